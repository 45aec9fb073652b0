// The engine in a Worker of this tab.
import moduleUrl from '../../engine/pkg/dynatwin_bg.wasm?url';
import type { Call, EngineControl, Headers, Reply, Returned, Start, Transport } from './transport';

/** What the engine answers: a control has no reply. */
type Settled = { id: number; reply?: Reply };

export class TabTransport implements Transport {
  readonly home = 'tab';
  #worker = new Worker(new URL('./engine-worker.ts', import.meta.url), { type: 'module', name: 'engine' });
  #waiting = new Map<number, { resolve: (settled: Settled) => void; reject: (error: Error) => void }>();
  #last = 0;
  #loaded: Promise<unknown>;

  constructor() {
    this.#worker.onmessage = ({ data }: MessageEvent<Returned>) => {
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ('failure' in data) waiting?.reject(new Error(data.failure));
      else waiting?.resolve(data);
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      for (const { reject } of this.#waiting.values()) reject(new Error(event.message || 'The engine could not be loaded.'));
      this.#waiting.clear();
    };
    // Compiled here while the Worker's script loads.
    this.#loaded = compile(moduleUrl).then((module) => this.#control({ do: 'load', module }));
    this.#loaded.catch(() => {});
  }

  async handle(method: string, path: string, headers: Headers = {}, body?: string | Uint8Array): Promise<Reply> {
    const id = (this.#last += 1);
    const call: Call = { id, method, path, headers, body };
    const { reply } = await this.#send(id, call);
    if (!reply) throw new Error('The engine did not answer the request.');
    return reply;
  }

  async restart(start: Start): Promise<void> {
    await this.#loaded;
    await this.#control({ do: 'start', start });
  }

  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#worker.postMessage({ port: port1 }, [port1]);
    return port2;
  }

  async #control(control: EngineControl): Promise<void> {
    const id = (this.#last += 1);
    await this.#send(id, { id, control });
  }

  #send(id: number, message: unknown): Promise<Settled> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage(message);
    });
  }
}

async function compile(url: string): Promise<WebAssembly.Module> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The engine could not be loaded: HTTP ${response.status}.`);
  const isWasm = response.headers.get('content-type')?.startsWith('application/wasm');
  return isWasm ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}
