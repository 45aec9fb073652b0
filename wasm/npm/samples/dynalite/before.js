const dynalite = require('dynalite');
const test = require('./app');

const server = dynalite({ createTableMs: 500 });
server.listen(0, '127.0.0.1', async () => {
  await test(`http://127.0.0.1:${server.address().port}`);
  server.close();
});
