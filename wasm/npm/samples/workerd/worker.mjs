import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { Dynatwin } from 'dynatwin';

const twin = new Dynatwin({ clock: 'settable' });

export default {
  async fetch() {
    const client = new DynamoDBClient(twin.clientConfig());
    const { TableNames } = await client.send(new ListTablesCommand({}));
    return Response.json(TableNames);
  },
};
