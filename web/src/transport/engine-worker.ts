// The engine's Worker: makes an engine and hands it requests, from the page and from the Worker that runs code.
import type { WorkerScope } from '../worker-scope';
import { Dynatwin, ready } from 'dynatwin';
import type { Call, Returned, Start } from './transport';

let twin: Dynatwin | undefined;

function serve(port: MessagePort | WorkerScope, call: Call): void {
  let returned: Returned;
  try {
    if (!twin) throw new Error('The engine has not started.');
    const { status, headers, body, at, delivery } = twin.handle(call.method, call.path, call.headers, call.body);
    returned = { id: call.id, reply: { status, headers, body, at, delivery } };
  } catch (error) {
    returned = { id: call.id, failure: error instanceof Error ? error.message : String(error) };
  }
  port.postMessage(returned);
}

const scope = self as unknown as WorkerScope;

scope.onmessage = async ({ data }: MessageEvent<{ id: number; start: Start } | { port: MessagePort } | Call>) => {
  if ('port' in data) {
    data.port.onmessage = (message: MessageEvent<Call>) => serve(data.port, message.data);
  } else if ('start' in data) {
    try {
      await ready();
      const { seed, moment } = data.start;
      twin = new Dynatwin({ seed, clock: moment, sharedTables: true, watch: true });
      scope.postMessage({ id: data.id });
    } catch (error) {
      scope.postMessage({ id: data.id, failure: error instanceof Error ? error.message : String(error) });
    }
  } else {
    serve(scope, data);
  }
};
