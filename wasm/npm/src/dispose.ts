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
