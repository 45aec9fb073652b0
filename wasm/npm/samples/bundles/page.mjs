// A page: its bundler moves the wasm module to where the package fetches it.
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { Dynatwin, ready } from 'dynatwin';

async function main() {
  await ready();
  const client = new DynamoDBClient(new Dynatwin({ clock: 'settable' }).clientConfig());
  return (await client.send(new ListTablesCommand({}))).TableNames.length;
}
main().then(
  (count) => (document.title = `${count} tables`),
  (error) => (document.title = `failed: ${error}`),
);
