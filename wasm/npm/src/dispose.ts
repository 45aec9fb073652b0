/// <reference lib="esnext.disposable" preserve="true" />
// `Symbol.dispose` where it exists, and where it does not, a symbol that a polyfill finds.
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');
