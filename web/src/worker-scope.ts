/** What the global object of a dedicated Worker has, of what the Workers here use. */
export interface WorkerScope {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown): void;
  addEventListener(type: 'unhandledrejection', listener: (event: PromiseRejectionEvent) => void): void;
  addEventListener(type: 'error', listener: (event: ErrorEvent) => void): void;
}
