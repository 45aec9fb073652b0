// Bytes as text for links and files, compressed.

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** Bytes, deflated, as base64 for addresses. */
export async function packed(bytes: Uint8Array): Promise<string> {
  let text = '';
  for (const byte of await through(new Uint8Array(bytes), new CompressionStream('deflate-raw'))) text += String.fromCharCode(byte);
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** The bytes of [`packed`] text. */
export async function unpacked(text: string): Promise<Uint8Array> {
  const letters = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return through(Uint8Array.from(letters, (letter) => letter.charCodeAt(0)), new DecompressionStream('deflate-raw'));
}
