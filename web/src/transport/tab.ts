// The engine in a Worker of this tab.
import type { Call, Headers, Reply, Returned, Start, Transport } from './transport';

export class TabTransport implements Transport {
  readonly home = 'tab';
  #worker = new Worker(new URL('./engine-worker.ts', import.meta.url), { type: 'module', name: 'engine' });
  #waiting = new Map<number, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>();
  #last = 0;

  constructor() {
    this.#worker.onmessage = ({ data }: MessageEvent<Returned>) => {
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ('failure' in data && data.failure !== undefined) waiting?.reject(new Error(data.failure));
      else waiting?.resolve((data as { reply: Reply }).reply);
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      for (const { reject } of this.#waiting.values()) reject(new Error(event.message || 'The engine could not be loaded.'));
      this.#waiting.clear();
    };
  }

  handle(method: string, path: string, headers: Headers = {}, body?: string | Uint8Array): Promise<Reply> {
    const call: Call = { id: (this.#last += 1), method, path, headers, body };
    return this.#send(call.id, call);
  }

  async restart(start: Start): Promise<void> {
    const id = (this.#last += 1);
    await this.#send(id, { id, start });
  }

  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#worker.postMessage({ port: port1 }, [port1]);
    return port2;
  }

  #send(id: number, message: unknown): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage(message);
    });
  }
}
