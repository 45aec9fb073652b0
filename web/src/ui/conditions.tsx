// Conditions and fault rules: switches and sliders, each with one sentence.
import { useSignal } from '@preact/signals';
import type { App } from '../app';
import type { Conditions, Lag, Outage, Rule } from '../transport/control';
import { words } from '../transport/dynamodb';
import { seconds } from '../words';

const PRESETS: [string, string][] = [
  ['calm', 'No surprises: everything happens at once, capacity never runs out.'],
  ['aws', 'As the service usually behaves: indexes lag by milliseconds, expired items stay for hours, capacity runs out.'],
  ['storm', 'A bad day: everything lags, a twentieth is throttled, a hundredth fails.'],
];

const longest = (lag: Lag | 'off') => (lag === 'off' ? 0 : typeof lag === 'number' ? lag : lag.longest);

interface Slider {
  name: string;
  sentence: string;
  /** The steps of the slider; the condition itself is a lag, half of it typical. */
  steps: number[];
  value: (conditions: Conditions) => number;
  change: (value: number) => Record<string, unknown>;
  show: (value: number) => string;
}

const lag = (most: number) => (most === 0 ? 0 : { typical: most / 4, longest: most });
const upTo = (value: number) => (value === 0 ? 'at once' : `up to ${seconds(value)}`);
const share = (value: number) => (value === 0 ? 'none' : `${Math.round(value * 1000) / 10}%`);

const SLIDERS: Slider[] = [
  {
    name: 'Index lag',
    sentence: 'How long a write takes to reach a global index.',
    steps: [0, 0.1, 0.5, 1, 3, 10, 60, 180],
    value: ({ indexPropagation }) => longest(indexPropagation),
    change: (value) => ({ indexPropagation: lag(value) }),
    show: upTo,
  },
  {
    name: 'Time to live',
    sentence: 'How long after an item expires it is deleted. Until then reads return it.',
    steps: [0, 10, 60, 600, 3600, 21_600, 86_400, 172_800],
    value: ({ timeToLive }) => longest(timeToLive),
    change: (value) => ({ timeToLive: lag(value) }),
    show: upTo,
  },
  {
    name: 'Stale reads',
    sentence: 'The share of reads without ConsistentRead that may return an older state.',
    steps: [0, 0.004, 0.05, 0.25, 0.5, 1],
    value: ({ staleReads, readStaleness }) => (longest(readStaleness) === 0 ? 0 : staleReads),
    change: (value) => (value === 0 ? { readStaleness: 0, staleReads: 1 } : { readStaleness: { typical: 0.5, longest: 1 }, staleReads: value }),
    show: share,
  },
  {
    name: 'Transaction time',
    sentence: 'How long a TransactWriteItems holds its items; writes to them fail meanwhile.',
    steps: [0, 0.01, 0.1, 1, 5],
    value: ({ transactionTime }) => longest(transactionTime),
    change: (value) => ({ transactionTime: lag(value) }),
    show: upTo,
  },
  {
    name: 'Replication lag',
    sentence: 'How long a write takes to reach the replicas of a global table in other regions.',
    steps: [0, 0.5, 3, 10, 60, 600],
    value: ({ replicationLag }) => longest(replicationLag),
    change: (value) => ({ replicationLag: lag(value) }),
    show: upTo,
  },
  {
    name: 'Stream lag',
    sentence: 'How long a change takes to be readable in a stream.',
    steps: [0, 0.5, 5, 30],
    value: ({ streamLag }) => longest(streamLag),
    change: (value) => ({ streamLag: lag(value) }),
    show: upTo,
  },
  {
    name: 'Random throttling',
    sentence: 'The share of entries that are throttled though capacity is left.',
    steps: [0, 0.01, 0.05, 0.1, 0.25, 0.5],
    value: ({ throttles }) => throttles,
    change: (value) => ({ throttles: value }),
    show: share,
  },
  {
    name: 'Server errors',
    sentence: 'The share of entries that fail with a 500.',
    steps: [0, 0.01, 0.05, 0.1, 0.25],
    value: ({ internalErrors }) => internalErrors,
    change: (value) => ({ internalErrors: value }),
    show: share,
  },
];

interface Switch {
  name: string;
  sentence: string;
  on: (conditions: Conditions) => boolean;
  change: (on: boolean) => Record<string, unknown>;
}

const SWITCHES: Switch[] = [
  {
    name: 'Capacity is enforced',
    sentence: 'Token buckets of tables, indexes and partitions run out, and requests beyond them are throttled.',
    on: ({ capacity }) => capacity !== 'reported',
    change: (on) => ({ capacity: on ? 'enforced' : 'reported' }),
  },
  {
    name: 'Requests take time',
    sentence: 'Answers arrive after a few milliseconds of the emulator’s clock, with a long tail.',
    on: ({ latency }) => latency !== 'none',
    change: (on) => ({ latency: on ? {} : 'none' }),
  },
  {
    name: 'Limits of table operations',
    sentence: 'Table operations at a time and requests that manage tables have the service’s limits.',
    on: ({ controlLimits }) => controlLimits,
    change: (on) => ({ controlLimits: on }),
  },
];

export function ConditionsPanel({ app }: { app: App }) {
  const conditions = app.conditions.value;
  const off = !app.controlled.value;
  if (!conditions) return null;
  const set = (change: Record<string, unknown> | string) => void app.act({ do: 'conditions', change: change as 'calm' });
  return (
    <div class="conditions">
      <fieldset class="presets" disabled={off}>
        <legend>Conditions</legend>
        {PRESETS.map(([name, sentence]) => (
          <label key={name} data-checked={app.preset.value === name}>
            <input type="radio" name="preset" checked={app.preset.value === name} onChange={() => set(name)} />
            <b>{name}</b>
            <small>{sentence}</small>
          </label>
        ))}
      </fieldset>
      <div class="settings">
        {SLIDERS.map((slider) => <SliderRow key={slider.name} slider={slider} conditions={conditions} off={off} set={set} />)}
        {SWITCHES.map(({ name, sentence, on, change }) => (
          <label key={name} class="setting switch">
            <input type="checkbox" role="switch" disabled={off} checked={on(conditions)} onChange={(event) => set(change(event.currentTarget.checked))} />
            <b>{name}</b>
            <small>{sentence}</small>
          </label>
        ))}
      </div>
      <Faults app={app} />
      <Seed app={app} />
    </div>
  );
}

function SliderRow({ slider, conditions, off, set }: { slider: Slider; conditions: Conditions; off: boolean; set: (change: Record<string, unknown>) => void }) {
  const value = slider.value(conditions);
  const at = slider.steps.findLastIndex((step) => step <= value);
  return (
    <label class="setting">
      <b>{slider.name}</b>
      <output>{slider.show(value)}</output>
      <input
        type="range"
        min={0}
        max={slider.steps.length - 1}
        value={Math.max(0, at)}
        disabled={off}
        aria-valuetext={slider.show(value)}
        onChange={(event) => set(slider.change(slider.steps[Number(event.currentTarget.value)] ?? 0))}
      />
      <small>{slider.sentence}</small>
    </label>
  );
}

const VERDICTS: [string, Rule['verdict'], string][] = [
  ['Throttle', 'throttle', 'The request is refused for lack of throughput; the SDK retries it.'],
  ['Fail with a 500', 'internalServerError', 'The request is not executed.'],
  ['Lose the answer', 'answerLost', 'The request is executed, and its answer is lost.'],
  ['Reset the connection', 'reset', 'The request is not executed.'],
  ['Answer 5 s later', { wait: 5 }, 'The request is executed at once.'],
];

const OUTAGES: [Outage['outage'], string][] = [
  ['brownout', 'Brownout: a tenth fails, half is late'],
  ['throttle-storm', 'Throttle storm: half of all requests are throttled'],
  ['az-loss', 'Loss of a zone: a third gets no answer for a minute'],
];

function Faults({ app }: { app: App }) {
  const verdict = useSignal(0);
  const operation = useSignal('');
  const key = useSignal('');
  const first = useSignal('1');
  const trouble = useSignal('');
  const off = !app.controlled.value;
  const add = async () => {
    const rule: Rule = { verdict: VERDICTS[verdict.value]?.[1] ?? 'throttle' };
    if (operation.value) rule.operation = operation.value;
    if (key.value) rule.partition = key.value;
    if (Number(first.value) > 0) rule.first = Number(first.value);
    try {
      await app.act({ do: 'fault', rule });
      trouble.value = '';
    } catch (error) {
      trouble.value = words(error);
    }
  };
  return (
    <section class="faults" aria-labelledby="faults-title">
      <h3 id="faults-title">Faults</h3>
      <div class="tools">
        <label class="line">
          Effect
          <select value={verdict.value} disabled={off} onChange={(event) => (verdict.value = Number(event.currentTarget.value))}>
            {VERDICTS.map(([name], at) => <option key={name} value={at}>{name}</option>)}
          </select>
        </label>
        <label class="line">
          Operation
          <input placeholder="all" disabled={off} list="operations-of-rules" value={operation.value} onInput={(event) => (operation.value = event.currentTarget.value.trim())} />
          <datalist id="operations-of-rules">
            {['PutItem', 'GetItem', 'UpdateItem', 'DeleteItem', 'Query', 'Scan', 'BatchWriteItem', 'TransactWriteItems'].map((name) => <option key={name} value={name} />)}
          </datalist>
        </label>
        <label class="line">
          Partition key
          <input placeholder="all" disabled={off} value={key.value} onInput={(event) => (key.value = event.currentTarget.value)} />
        </label>
        <label class="line">
          First
          <input type="number" min="0" disabled={off} value={first.value} onInput={(event) => (first.value = event.currentTarget.value)} />
        </label>
        <button type="button" disabled={off} onClick={() => void add()}>Add rule</button>
      </div>
      <p class="quiet">{VERDICTS[verdict.value]?.[2]} It acts on the first {Number(first.value) > 0 ? first.value : '∞'} matching entries.</p>
      {trouble.value && <p class="trouble" role="alert">{trouble.value}</p>}
      <ul class="rules">
        {app.faults.value.map(({ id, rule, matched, fired }) => (
          <li key={id}>
            <code>{JSON.stringify(rule)}</code>
            <small>matched {matched}, acted on {fired}</small>
            <button type="button" class="small" disabled={off} onClick={() => void app.act({ do: 'unfault', id })}>Remove</button>
          </li>
        ))}
      </ul>
      <div class="tools">
        {OUTAGES.map(([name, sentence]) => (
          <button key={name} type="button" disabled={off} onClick={() => void app.act({ do: 'outage', outage: { outage: name, for: 300 } })}>{sentence}</button>
        ))}
      </div>
    </section>
  );
}

function Seed({ app }: { app: App }) {
  const wanted = useSignal(String(app.seed.value));
  return (
    <section class="seed" aria-labelledby="seed-title">
      <h3 id="seed-title">Seed</h3>
      <div class="tools">
        {app.isTab ? (
          <>
            <input aria-label="Seed" inputMode="numeric" value={wanted.value} onInput={(event) => (wanted.value = event.currentTarget.value.replace(/\D/g, ''))} />
            <button
              type="button"
              onClick={() => {
                app.seed.value = Number(wanted.value) || 0;
                void app.runCode();
              }}
            >
              Run with this seed
            </button>
          </>
        ) : (
          <code>{app.seed.value}</code>
        )}
        <small class="quiet">Lags, stale reads and random failures follow from the seed: the same seed and the same requests give the same run.</small>
      </div>
    </section>
  );
}
