// The engine's Worker: creates an engine and passes requests to it, from the page and from the Worker that runs code.
import { Engine, initSync } from '../../engine/pkg/dynatwin.js';
import type { WorkerScope } from '../worker-scope';
import type { Call, EngineCall, Reply, Returned, ToEngine } from './transport';

let engine: Engine | undefined;

const encoder = new TextEncoder();
const NOTHING = new Uint8Array();

function handle({ method, path, headers, body }: Call): Reply {
  if (!engine) throw new Error('The engine has not started.');
  const sent = typeof body === 'string' ? encoder.encode(body) : (body ?? NOTHING);
  const [status, received, bytes, at, kind, arriving] = engine.handle(method, path, Object.entries(headers).flat(), sent) as [
    number,
    string[],
    Uint8Array,
    number,
    'whole' | 'truncated' | 'reset' | 'lost',
    number,
  ];
  const names: Record<string, string> = {};
  for (let next = 0; next < received.length; next += 2) names[received[next] ?? ''] = received[next + 1] ?? '';
  return { status, headers: names, body: bytes, at, delivery: kind === 'truncated' ? { kind, bytes: arriving } : { kind } };
}

function control({ control }: EngineCall): void {
  switch (control.do) {
    case 'load':
      initSync({ module: control.module });
      break;
    case 'start':
      engine?.free();
      engine = new Engine(control.start.seed, Date.parse(control.start.moment));
      break;
  }
}

const words = (error: unknown) => (error instanceof Error ? error.message : String(error));

function serve(port: MessagePort | WorkerScope, message: Call | EngineCall): void {
  let returned: Returned;
  try {
    if ('control' in message) {
      control(message);
      returned = { id: message.id };
    } else returned = { id: message.id, reply: handle(message) };
  } catch (error) {
    returned = { id: message.id, failure: words(error) };
  }
  port.postMessage(returned);
}

const scope = self as unknown as WorkerScope;

scope.onmessage = ({ data }: MessageEvent<ToEngine>) => {
  if ('port' in data) {
    data.port.onmessage = (message: MessageEvent<Call>) => serve(data.port, message.data);
  } else {
    serve(scope, data);
  }
};
