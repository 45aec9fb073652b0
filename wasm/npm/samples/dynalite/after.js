const { Dynatwin } = require('dynatwin');
const { serve } = require('dynatwin/server');
const test = require('./app');

async function main() {
  const server = await serve(new Dynatwin({ clock: 'polling', conditions: { tableStatus: 0.5 } }));
  await test(server.url);
  await server.close();
}
main();
