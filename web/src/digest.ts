// A short digest of a history: equal for two sessions with the same events.
import type { App } from './app';

/** The first 12 hexadecimal digits of the SHA-256 of the event log. */
export async function digest(app: App): Promise<string> {
  const lines = (await app.feed.log()).map((event) => JSON.stringify(event));
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(lines.join('\n')));
  return Array.from(new Uint8Array(hash).slice(0, 6), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
