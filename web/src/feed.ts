// What the engine reports: requests and events, each read once by a cursor.
import { signal } from '@preact/signals';
import { APP_ACCOUNT } from './app';
import type { Control, SeenRequest } from './transport/control';

/** How many requests are kept for the views. */
const MOST = 2_000;
const PAGE = 1_000;

export class Feed {
  readonly requests = signal<SeenRequest[]>([]);
  #after = 0;
  #listeners = new Set<(request: SeenRequest) => void>();

  constructor(readonly control: Control) {}

  /** Calls `listener` with each request that arrives from now on. */
  listen(listener: (request: SeenRequest) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  clear(): void {
    this.#after = 0;
    this.requests.value = [];
  }

  /** Reads what is new; returns whether there was anything. */
  async refresh(): Promise<boolean> {
    let found = false;
    for (;;) {
      const { requests } = await this.control.get<{ requests: SeenRequest[] }>(`/requests?after=${this.#after}&limit=${PAGE}`);
      const last = requests.at(-1);
      if (!last) return found;
      this.#after = last.number;
      const fresh = requests.filter(({ caller }) => caller.accessKey !== APP_ACCOUNT.accessKey);
      if (fresh.length > 0) {
        found = true;
        this.requests.value = [...this.requests.value, ...fresh].slice(-MOST);
        for (const request of fresh) for (const listener of this.#listeners) listener(request);
      }
      if (requests.length < PAGE) return found;
    }
  }

  lastMissingTable(): string | undefined {
    return this.requests.value.findLast(({ error }) => error === 'ResourceNotFoundException')?.tables[0];
  }
}
