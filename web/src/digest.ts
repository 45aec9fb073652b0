// A short name for a history: equal for two sessions in which the same happened.
import type { App } from './app';

/** The first 12 hexadecimal digits of the SHA-256 of the event log. */
export async function digest(app: App): Promise<string> {
  const lines = (await app.feed.log()).map((event) => JSON.stringify(event));
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(lines.join('\n')));
  return Array.from(new Uint8Array(hash).slice(0, 6), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
