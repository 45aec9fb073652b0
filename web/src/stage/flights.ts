// Animations on the stage: requests to their partitions, changes to their indexes and replicas. One canvas over the
// boxes.
import { effect } from '@preact/signals';
import type { App } from '../app';
import type { TableView } from '../tables';
import type { EngineEvent, WaitingItem } from '../transport/control';

const KINDS = ['read', 'write', 'refused', 'throttled', 'expired'] as const;
type FlightKind = (typeof KINDS)[number];

interface Flight {
  from: string;
  to: string;
  kind: FlightKind;
  start: number;
  /** Where it is within its target, so that flights do not hide each other. */
  offset: number;
  label?: string;
}

interface Change {
  to: string;
  due: number;
  /** When it was first seen, by the emulator's clock. */
  since: number;
  offset: number;
}

/** How long a flight takes, in milliseconds of real time. */
const FLIGHT = 420;
const MOST_FLIGHTS = 120;
const WRITES = new Set(['Put', 'Update', 'Delete', 'ConditionCheck']);

export class Flights {
  #flights: Flight[] = [];
  #changes = new Map<string, Change>();
  #anchors = new Map<string, { x: number; y: number; w: number; h: number }>();
  /** The expired items that have dropped. */
  #expired = new Set<string>();
  #frame = 0;
  #measured = 0;
  #closing: (() => void)[] = [];
  #calm = matchMedia('(prefers-reduced-motion: reduce)');
  #colors: Record<string, string> = {};
  /** The table on the stage. */
  #table: string | undefined;

  constructor(
    readonly app: App,
    readonly host: HTMLElement,
    readonly canvas: HTMLCanvasElement,
  ) {
    this.#closing.push(app.feed.watch((event) => this.#event(event)));
    this.#closing.push(effect(() => this.#followChanges()));
    const observer = new ResizeObserver(() => (this.#measured = 0));
    observer.observe(host);
    this.#closing.push(() => observer.disconnect());
    this.#wake();
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    for (const close of this.#closing) close();
  }

  #event(event: EngineEvent): void {
    if (!this.#concerns(event)) return;
    const at = event.partition === undefined ? 'table' : `partition-${event.partition}`;
    if (event.kind === 'expiry') this.#flash('ttl', 'expired');
    if (event.kind === 'streamRecord') this.#fly({ from: at, to: 'stream', kind: 'write', start: performance.now() + FLIGHT, offset: Math.random() });
    if (event.kind === 'replication') this.#setOut(event);
    if (event.kind === 'replicationArrival') this.#fly({ from: `replica-${event.from}`, to: at, kind: event.applied ? 'write' : 'refused', start: performance.now(), offset: Math.random() });
    if (event.kind === 'replicationConflict' && event.lost && event.won) this.#showConflict(event.lost.region, event.won.region, at);
    if (event.kind !== 'entry') return;
    const kind = kindOf(event);
    const to = event.index ? `index-${event.index}` : at;
    const label = kind === 'throttled' ? 'throttled' : event.age === undefined ? undefined : `stale, ${event.age.toFixed(1)} s old`;
    this.#fly({ from: 'sender', to, kind, start: performance.now() + Math.random() * 60, offset: Math.random(), ...(label ? { label } : {}) });
    if (kind === 'write') this.#deliverAtOnce(to);
  }

  /** Whether an event is about the table on the stage. */
  #concerns({ table, accessKey, region }: EngineEvent): boolean {
    const current = this.app.tables.current.peek();
    return current !== undefined && table === current.name && (current.region === undefined || (current.region === region && current.accessKey === accessKey));
  }

  // A change on its way to another region; it stays at the start while replication is paused.
  #setOut({ id, at, to = '', arrives }: EngineEvent): void {
    const replica = `replica-${to}`;
    const since = Date.parse(at);
    const due = arrives === undefined ? Infinity : Date.parse(arrives);
    if (due <= since) this.#fly({ from: 'table', to: replica, kind: 'write', start: performance.now() + FLIGHT, offset: Math.random() });
    else if (this.#changes.size < MOST_FLIGHTS) this.#changes.set(`${replica} ${id}`, { to: replica, due, since, offset: ((id * 7) % 40) / 40 });
  }

  #showConflict(lost: string, won: string, at: string): void {
    const here = this.app.tables.current.peek()?.region;
    const other = lost === here ? won : lost;
    this.#fly({ from: `replica-${other}`, to: at, kind: 'throttled', start: performance.now(), offset: Math.random(), label: `write of ${lost} lost` });
  }

  // Under conditions without a lag a change is in its index before it can be shown waiting.
  #deliverAtOnce(from: string): void {
    const table = this.app.tables.current.peek();
    const lag = this.app.conditions.peek()?.indexPropagation;
    if (lag !== 0 || !table) return;
    for (const { name, kind } of table.indexes) {
      if (kind !== 'global') continue;
      if (table.pending?.indexes.find(({ index }) => index === name)?.paused) continue;
      this.#fly({ from, to: `index-${name}`, kind: 'write', start: performance.now() + FLIGHT, offset: Math.random() });
    }
  }

  /** Whether time moves too fast to animate its events. */
  get #isFast(): boolean {
    return this.app.time.target.peek() !== undefined;
  }

  #fly(flight: Flight): void {
    if (this.#isFast) return;
    if (this.#calm.matches) {
      this.#flash(flight.to, flight.kind);
      return;
    }
    if (this.#flights.length < MOST_FLIGHTS) this.#flights.push(flight);
    this.#wake();
  }

  // Tracks the changes that are on their way to the indexes and replicas of the table on the stage.
  #followChanges(): void {
    const table = this.app.tables.current.value;
    const there = new Set<string>();
    if (table) this.#dropExpired(table);
    const now = this.app.time.now.peek();
    for (const { index, first, paused } of table?.pending?.indexes ?? []) {
      for (const [at, item] of first.slice(0, 40).entries()) {
        const name = `${index} ${JSON.stringify(item.key)} ${item.due}`;
        there.add(name);
        if (!this.#changes.has(name)) this.#changes.set(name, { to: `index-${index}`, due: paused ? Infinity : Date.parse(item.due), since: now, offset: ((at * 7) % 40) / 40 });
      }
    }
    const leaving = new Set(table?.id === this.#table ? table?.replicas.filter((replica) => replica.leaving > 0).map(({ region }) => `replica-${region}`) : []);
    this.#table = table?.id;
    for (const [name, { to, due }] of this.#changes) {
      if (there.has(name) || (leaving.has(to) && due > now)) continue;
      this.#changes.delete(name);
      this.#flash(to, 'write');
    }
    this.#wake();
  }

  // An item that expires drops into the waiting area of time to live.
  #dropExpired(table: TableView): void {
    const partitions = table.heat?.resources.find(({ index }) => index === undefined)?.partitions ?? [];
    const expired = new Set<string>();
    for (const { key, token = '', due } of expiredOf(table, this.app.time.now.peek())) {
      const name = `${table.id} ${JSON.stringify(key)} ${due}`;
      expired.add(name);
      if (this.#expired.has(name)) continue;
      const at = partitions.findLastIndex(({ first }) => first <= token);
      this.#fly({ from: at < 0 ? 'table' : `partition-${at}`, to: 'ttl', kind: 'expired', start: performance.now(), offset: Math.random() });
    }
    this.#expired = expired;
  }

  #wake(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #measure(): void {
    const now = performance.now();
    if (now - this.#measured < 500) return;
    this.#measured = now;
    const own = this.host.getBoundingClientRect();
    const scale = devicePixelRatio || 1;
    const [width, height] = [Math.round(own.width * scale), Math.round(own.height * scale)];
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.#anchors.clear();
    for (const element of this.host.querySelectorAll<HTMLElement>('[data-anchor]')) {
      const { left, top, width: w, height: h } = element.getBoundingClientRect();
      this.#anchors.set(element.dataset['anchor'] ?? '', { x: left - own.left, y: top - own.top, w, h });
    }
    const style = getComputedStyle(this.host);
    for (const kind of [...KINDS, 'panel']) this.#colors[kind] = style.getPropertyValue(`--${kind}`).trim();
  }

  #draw(): void {
    this.#frame = 0;
    this.#measure();
    const context = this.canvas.getContext('2d');
    if (!context) return;
    const scale = devicePixelRatio || 1;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const now = performance.now();
    this.#flights = this.#flights.filter((flight) => {
      const over = now - flight.start > FLIGHT * (flight.kind === 'throttled' ? 1.8 : 1);
      if (over && flight.kind !== 'throttled') this.#flash(flight.to, flight.kind);
      return !over;
    });
    for (const flight of this.#flights) this.#drawFlight(context, flight, now);
    if (!this.#calm.matches) for (const change of this.#changes.values()) this.#drawChange(context, change);
    if (this.#flights.length > 0 || (this.#changes.size > 0 && this.app.time.playing.peek() && !this.#calm.matches)) this.#wake();
  }

  #drawFlight(context: CanvasRenderingContext2D, { from, to, kind, start, offset, label }: Flight, now: number): void {
    const ends = this.#ends(from, to, offset);
    const part = (now - start) / FLIGHT;
    if (!ends || part < 0) return;
    // A throttled request reaches the table, and falls back.
    const back = kind === 'throttled' && part > 0.9;
    const way = kind === 'throttled' ? (back ? Math.max(0, 0.9 - (part - 0.9)) : part) : Math.min(1, part);
    const eased = way * way * (3 - 2 * way);
    const color = this.#colors[kind] ?? 'gray';
    const { x1, y1, x2, y2 } = ends;
    const bend = Math.min(40, Math.abs(x2 - x1) * 0.15);
    const at = (t: number) => ({ x: x1 + (x2 - x1) * t, y: y1 + (y2 - y1) * t - Math.sin(t * Math.PI) * bend });
    const tail = at(Math.max(0, eased - 0.16));
    const head = at(eased);
    context.strokeStyle = color;
    context.globalAlpha = 0.35;
    context.lineWidth = 3;
    context.lineCap = 'round';
    context.beginPath();
    context.moveTo(tail.x, tail.y);
    context.lineTo(head.x, head.y);
    context.stroke();
    context.globalAlpha = 1;
    dot(context, head.x, head.y, 4.5, color);
    if (label && part > 0.85) {
      context.font = '600 11px system-ui, sans-serif';
      context.fillStyle = this.#colors['panel'] ?? 'white';
      context.beginPath();
      context.roundRect(head.x + 6, head.y - 9, context.measureText(label).width + 8, 18, 5);
      context.fill();
      context.fillStyle = color;
      context.fillText(label, head.x + 10, head.y + 4);
    }
  }

  // The position of a change in progress, from the elapsed part of its time.
  #drawChange(context: CanvasRenderingContext2D, { to, due, since, offset }: Change): void {
    const ends = this.#ends('table', to, offset);
    if (!ends) return;
    const part = due === Infinity ? 0.12 : Math.min(1, Math.max(0, (this.app.time.now.peek() - since) / Math.max(1, due - since)));
    const { x1, y1, x2, y2 } = ends;
    dot(context, x1 + (x2 - x1) * part, y1 + (y2 - y1) * part, 3.5, this.#colors['write'] ?? 'gray');
  }

  #ends(from: string, to: string, offset: number) {
    const a = this.#anchors.get(from);
    const b = this.#anchors.get(to) ?? this.#anchors.get('table');
    if (!a || !b) return undefined;
    const below = b.y >= a.y + a.h;
    if (below) return { x1: a.x + a.w * (0.2 + 0.6 * offset), y1: a.y + a.h, x2: b.x + b.w * (0.2 + 0.6 * offset), y2: b.y + (to.startsWith('partition') ? b.h / 2 : 6) };
    const leftward = b.x + b.w <= a.x;
    return {
      x1: leftward ? a.x : a.x + a.w,
      y1: a.y + a.h * (0.25 + 0.5 * offset),
      x2: leftward ? b.x + b.w : b.x,
      y2: b.y + b.h * (0.25 + 0.5 * offset),
    };
  }

  #flash(anchor: string, kind: FlightKind): void {
    if (this.#isFast) return;
    const element = this.host.querySelector<HTMLElement>(`[data-anchor="${CSS.escape(anchor)}"]`);
    const color = this.#colors[kind] || `var(--${kind})`;
    element?.animate([{ boxShadow: `0 0 0 2px ${color}` }, { boxShadow: '0 0 0 2px transparent' }], { duration: 420 });
  }
}

/** The items of a table that have expired and are not deleted yet, the first to be deleted first. */
export function expiredOf({ pending }: TableView, now: number): WaitingItem[] {
  return pending?.timeToLive.first.filter(({ expires }) => expires !== undefined && Date.parse(expires) <= now) ?? [];
}

function kindOf({ outcome, act }: EngineEvent): FlightKind {
  if (outcome === 'conditionFailed' || outcome === 'conflict') return 'refused';
  if (outcome !== 'done') return 'throttled';
  return WRITES.has(act ?? '') ? 'write' : 'read';
}

function dot(context: CanvasRenderingContext2D, x: number, y: number, radius: number, color: string): void {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}
