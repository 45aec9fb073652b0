// The twin of this page, and the SDK clients that talk to it.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { Dynatwin, ready, type Exchange } from 'dynatwin';

export interface World {
  twin: Dynatwin;
  client: DynamoDBClient;
  documents: DynamoDBDocumentClient;
}

/** A twin on a clock that stands still until it is pushed, and clients that do not know they are not talking to AWS. */
export async function createWorld(onExchange: (exchange: Exchange) => void): Promise<World> {
  await ready();
  const twin = new Dynatwin({ seed: 2026, clock: 'settable' });
  const client = new DynamoDBClient({ ...twin.clientConfig(), requestHandler: twin.requestHandler({ onExchange }) });
  return { twin, client, documents: DynamoDBDocumentClient.from(client) };
}
