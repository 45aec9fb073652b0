// The requests and their answers, the newest on top.

import type { Exchange } from 'dynatwin';
import { count, element } from './element';

const KEPT = 200;
const decoder = new TextDecoder();

export interface Log {
  add(exchange: Exchange): void;
  clear(): void;
}

export function showLog(panel: HTMLElement, now: () => Date): Log {
  const list = element('ol', { className: 'log', id: 'requests' });
  const badge = element('span', { className: 'badge' });
  const empty = element('p', { className: 'empty' }, 'No requests yet.');
  let total = 0;
  panel.append(
    element('div', { className: 'panel-head' }, element('h2', { id: 'log-title' }, 'Requests', badge)),
    empty,
    element('div', { className: 'scroll tall', tabIndex: 0, role: 'region', 'aria-label': 'Requests and answers' }, list),
  );

  function recount() {
    badge.textContent = count(total, 'request');
    empty.hidden = total > 0;
  }
  recount();
  return {
    add(exchange) {
      total += 1;
      list.prepend(entry(exchange, total, now()));
      if (list.childElementCount > KEPT) list.lastElementChild?.remove();
      recount();
    },
    clear() {
      total = 0;
      list.replaceChildren();
      recount();
    },
  };
}

function entry({ request, answer }: Exchange, number: number, at: Date): HTMLElement {
  const operation = (request.headers['x-amz-target'] ?? request.path).replace(/^DynamoDB_\d+\./, '');
  const body = parsed(decoder.decode(answer.body));
  const kind = errorName(body);
  const fate = { whole: '', reset: 'connection reset', lost: 'answer lost', truncated: 'answer cut off' }[answer.delivery.kind];
  const summary = element(
    'summary',
    {},
    element('span', { className: 'number' }, String(number)),
    element('span', { className: 'operation' }, operation),
    element('span', { className: `status ${answer.status < 300 && !fate ? 'good' : 'bad'}` }, fate || String(answer.status)),
    element('span', { className: 'kind' }, kind),
  );
  const node = element('details', {}, summary);
  // Few are opened, so the texts are made when one is.
  node.addEventListener('toggle', () => fill(node, request.body, body, answer.headers, at), { once: true });
  return element('li', {}, node);
}

function fill(node: HTMLElement, sent: unknown, got: unknown, headers: Record<string, string>, at: Date): void {
  const part = (title: string, value: unknown) => [
    element('h3', {}, title),
    element('pre', { tabIndex: 0 }, typeof value === 'string' ? value : JSON.stringify(value, null, 2)),
  ];
  node.append(
    element('p', { className: 'hint' }, `At ${at.toISOString()}, request id ${headers['x-amzn-requestid'] ?? 'none'}`),
    ...part('Request', typeof sent === 'string' ? parsed(sent) : sent instanceof Uint8Array ? parsed(decoder.decode(sent)) : ''),
    ...part('Answer', got),
  );
}

function errorName(body: unknown): string {
  if (typeof body !== 'object' || body === null || !('__type' in body)) return '';
  return String(body.__type).replace(/^.*#/, '');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
