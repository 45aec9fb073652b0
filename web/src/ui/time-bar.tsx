// The time bar: the emulator's clock, and the controls that advance it.
import { useComputed } from '@preact/signals';
import type { App } from '../app';
import { DAY } from '../timeline';
import { keyText } from '../value';
import { length, moment } from '../words';
import { Icon } from './icon';

const SPEEDS = [1, 60, 3600];
const STEPS: [string, number, string][] = [
  ['+1 min', 60_000, 'one minute'],
  ['+1 h', 3_600_000, 'one hour'],
  ['+1 day', DAY, 'one day'],
  ['+1 week', 7 * DAY, 'one week'],
];

export function TimeBar({ app }: { app: App }) {
  const { controlled, time } = app;
  const { playing, speed, settable } = time;
  const off = !controlled.value;
  const passing = playing.value || time.target.value !== undefined;
  return (
    <section class="time" aria-label="Time">
      <time class="now" dateTime={new Date(app.time.now.value).toISOString()}>
        <Icon name="clock" />
        <span id="clock">{moment(app.time.now.value)}</span> <small>UTC</small>
      </time>
      {settable.value ? (
        <div class="group" role="group" aria-label="Let time pass">
          <button type="button" class="primary icon-button" disabled={off} aria-label={passing ? 'Pause time' : 'Play time'} title={passing ? 'Pause' : 'Play'} onClick={() => (passing ? time.halt() : (playing.value = true))}>
            <Icon name={passing ? 'pause' : 'play'} />
          </button>
          {SPEEDS.map((one) => (
            <button
              key={one}
              type="button"
              class="speed"
              disabled={off}
              aria-pressed={speed.value === one}
              title={`One second here is ${one === 1 ? 'one second' : length(one * 1000)} of the emulator`}
              onClick={() => {
                speed.value = one;
                playing.value = true;
              }}
            >
              ×{one}
            </button>
          ))}
        </div>
      ) : (
        <span class="note">The clock runs by itself.</span>
      )}
      <div class="group" role="group" aria-label="Move time forward">
        <NextButton app={app} />
        {STEPS.map(([name, step, words]) => (
          <button key={name} type="button" disabled={off} title={`Moves time forward by ${words}`} onClick={() => void app.time.advance(step)}>
            {name}
          </button>
        ))}
      </div>
      <WhatIsNext app={app} />
    </section>
  );
}

function NextButton({ app }: { app: App }) {
  const there = useComputed(() => app.time.next.value !== undefined);
  return (
    <button type="button" disabled={!there.value || !app.controlled.value} onClick={() => void app.time.toNext()}>
      <Icon name="next" /> Next event
    </button>
  );
}

function WhatIsNext({ app }: { app: App }) {
  const words = useComputed(() => {
    const { next, now, nextTimer, moving, playing, target } = app.time;
    if (target.value !== undefined) return `Time is moving… to ${moment(target.value)}`;
    if (moving.value && !playing.value) return 'Time is moving…';
    if (next.value === undefined) return 'Nothing is due.';
    return `${nextTimer.value === next.value ? 'The code continues' : whatIsDue(app.tables.list.value, next.value)} in ${length(next.value - now.value)}`;
  });
  return <span class="next">{words}</span>;
}

function whatIsDue(tables: App['tables']['list']['value'], due: number): string {
  for (const { name, pending } of tables) {
    if (!pending) continue;
    const meets = (next: string | undefined) => next !== undefined && Math.abs(Date.parse(next) - due) <= 1;
    const { timeToLive, transactions, streamRecords, arrivals, indexes } = pending;
    if (meets(timeToLive.next)) return `${keyText(timeToLive.first[0]?.key)} is deleted by time to live`;
    if (meets(transactions.next)) return 'A transaction is applied';
    const index = indexes.find(({ next }) => meets(next));
    if (index) return `A change reaches ${index.index}`;
    if (meets(arrivals.next)) return 'A change arrives from another region';
    if (meets(streamRecords.next)) return 'A stream record can be read';
    if (meets(pending.next)) return `${name} changes its status`;
  }
  return 'Something is due';
}
