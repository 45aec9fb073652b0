// Seeded randomness instead of the Worker's own, so that a program's run is reproducible.

/** A generator of numbers from 0 to 1 (sfc32). */
export function seeded(seed: number): () => number {
  let [a, b, c, d] = [seed | 0, (seed / 2 ** 32) | 0, 0x9e3779b9, 1];
  const next = () => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let turn = 0; turn < 12; turn += 1) next();
  return next;
}

/** Replaces `Math.random` and `crypto`. Without `crypto.subtle` the SDK hashes in JavaScript, which takes no turn of the event loop. */
export function install(scope: Record<string, unknown>, seed: number): void {
  const next = seeded(seed);
  Math.random = next;
  const getRandomValues = <T extends ArrayBufferView>(array: T): T => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = Math.floor(next() * 256);
    return array;
  };
  const randomUUID = () => {
    const bytes = getRandomValues(new Uint8Array(16));
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  };
  Object.defineProperty(scope, 'crypto', { configurable: true, value: { getRandomValues, randomUUID } });
}
