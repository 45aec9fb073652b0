/** The part of a dedicated Worker's global object that the Workers here use. */
export interface WorkerScope {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown): void;
  addEventListener(type: 'unhandledrejection', listener: (event: PromiseRejectionEvent) => void): void;
  addEventListener(type: 'error', listener: (event: ErrorEvent) => void): void;
}
