// Signature Version 4 of requests to a twin, at the time of its clock, which the SDK's own signatures do not have.
import type { Credentials } from './types.js';

type Headers = Record<string, string>;
type Bytes = Uint8Array<ArrayBuffer>;

const SIGNED = ['host', 'x-amz-date'];
const encoder = new TextEncoder();
const hex = (bytes: ArrayBuffer) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
const digest = async (bytes: Uint8Array) => hex(await crypto.subtle.digest('SHA-256', bytes as Bytes));

async function mac(key: Uint8Array, text: string): Promise<Uint8Array> {
  const imported = await crypto.subtle.importKey('raw', key as Bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, encoder.encode(text)));
}

/** Signs POST requests of `/`: returns the headers without the SDK's credentials, and with these. */
export function signer(credentials: Credentials, region: string, now: () => Date): (headers: Headers, body?: string | Uint8Array) => Promise<Headers> {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  return async (headers, body = '') => {
    const date = now().toISOString().replace(/[-:]|\.\d+/g, '');
    const scope = [date.slice(0, 8), region, 'dynamodb', 'aws4_request'];
    const sent = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
    const kept = Object.fromEntries(sent.filter(([name]) => name !== 'authorization' && name !== 'x-amz-security-token'));
    const own: Headers = { ...kept, host: kept['host'] ?? 'localhost', 'x-amz-date': date };
    const bytes = typeof body === 'string' ? encoder.encode(body) : body;
    const named = SIGNED.map((name) => `${name}:${own[name]}\n`).join('');
    const canonical = `POST\n/\n\n${named}\n${SIGNED.join(';')}\n${await digest(bytes)}`;
    const text = `AWS4-HMAC-SHA256\n${date}\n${scope.join('/')}\n${await digest(encoder.encode(canonical))}`;
    let key: Uint8Array = encoder.encode(`AWS4${secretAccessKey}`);
    for (const part of scope) key = await mac(key, part);
    const signature = hex((await mac(key, text)).buffer as ArrayBuffer);
    own['authorization'] =
      `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope.join('/')}, SignedHeaders=${SIGNED.join(';')}, Signature=${signature}`;
    return { ...own, 'x-amz-security-token': sessionToken };
  };
}
