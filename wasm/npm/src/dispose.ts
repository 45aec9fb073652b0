/// <reference lib="esnext.disposable" preserve="true" />
// `Symbol.dispose`, or where it does not exist, the symbol that polyfills use.
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');
