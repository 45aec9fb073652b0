// The libraries of TypeScript have these since 5.2.
declare global {
  interface SymbolConstructor {
    readonly dispose: unique symbol;
  }
  interface Disposable {
    [Symbol.dispose](): void;
  }
}

// `Symbol.dispose`, or where it does not exist, the symbol that polyfills use.
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');

/** Frees an object of the wasm module. Freeing it again does nothing; any other use throws an error that names it. */
export function release(object: { free(): void }, name: string): void {
  object.free();
  const refuse = (): never => {
    throw new Error(`This ${name} has been disposed.`);
  };
  const get = (_: object, member: PropertyKey) => (member === 'free' ? () => {} : refuse());
  Object.setPrototypeOf(object, new Proxy({}, { get, getPrototypeOf: refuse }));
}
