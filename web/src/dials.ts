// The twin's dials: its clock, its conditions, its faults.

import type { ConditionsName } from 'dynatwin';
import { count, element, length } from './element';
import { DAY, TABLE } from './scenario';
import type { World } from './twin';

const PUSHES: [label: string, spoken: string, seconds: number][] = [
  ['+1 h', 'Push the clock one hour forward', 3600],
  ['+1 day', 'Push the clock one day forward', DAY],
  ['+7 days', 'Push the clock seven days forward', 7 * DAY],
];
const CONDITIONS: [ConditionsName, string][] = [
  ['calm', 'calm: nothing surprises'],
  ['aws', 'aws: as on an ordinary day'],
  ['storm', 'storm: as on the worst day'],
];
/** One below the SDK's three attempts, so that it gets through. */
const THROTTLED = 2;

export interface Dials {
  /** Shows the clock and the faults as they are now. */
  refresh(): void;
}

interface Around {
  news(text: string): void;
  refresh(): void;
  startOver(): void;
}

export function showDials(panel: HTMLElement, world: World, around: Around): Dials {
  const clock = clockDial(world, around);
  const faults = faultDial(world, around);
  panel.append(clock.node, conditionsDial(world, around), faults.node, overDial(around));
  return {
    refresh() {
      clock.refresh();
      faults.refresh();
    },
  };
}

function clockDial({ twin }: World, { news, refresh }: Around) {
  const time = element('time', { id: 'clock' });
  const due = element('p', { className: 'hint', id: 'due' });
  const push = (seconds: number) => {
    const before = twin.items(TABLE)?.length ?? 0;
    twin.clock.advance(seconds);
    const gone = before - (twin.items(TABLE)?.length ?? 0);
    refresh();
    news(`The clock went ${length(seconds)} forward${gone > 0 ? `, and ${count(gone, 'expired item')} went` : ''}.`);
  };
  const buttons = PUSHES.map(([label, spoken, seconds]) =>
    element('button', { type: 'button', 'aria-label': spoken, onclick: () => push(seconds) }, label),
  );
  const node = dial('The twin’s clock', time, element('div', { className: 'buttons' }, ...buttons), due);
  return {
    node,
    refresh() {
      const now = twin.clock.now();
      time.dateTime = now.toISOString();
      time.textContent = now.toISOString().replace('T', ' ').slice(0, 19) + ' UTC';
      const next = twin.nextDue();
      due.textContent = next ? `Something is due in ${length((next.getTime() - now.getTime()) / 1000)}.` : 'It stands still until you push it.';
    },
  };
}

function conditionsDial({ twin }: World, { news, refresh }: Around) {
  const select = element(
    'select',
    { id: 'conditions', onchange: () => choose(select.value as ConditionsName) },
    ...CONDITIONS.map(([value, label]) => element('option', { value }, label)),
  );
  const hint = element('p', { className: 'hint' }, 'Tables, sessions and requests behave accordingly.');
  function choose(name: ConditionsName) {
    twin.conditions = name;
    refresh();
    news(`The conditions are ${name} now.`);
  }
  return dial('Conditions', select, hint);
}

function faultDial({ twin }: World, { news, refresh }: Around) {
  let rule: number | undefined;
  const button = element('button', { type: 'button', id: 'throttle', onclick: add }, `Throttle the next ${THROTTLED} requests`);
  const hint = element('p', { className: 'hint', id: 'faults' });
  function add() {
    if (rule !== undefined) twin.faults.remove(rule);
    rule = twin.faults.add({ verdict: 'throttle', table: TABLE, first: THROTTLED });
    refresh();
    news(`The next ${THROTTLED} requests to ${TABLE} will be throttled; the SDK tries each three times.`);
  }
  const node = dial('Faults', button, hint);
  return {
    node,
    refresh() {
      const report = twin.faults.report().find(({ id }) => id === rule);
      const left = report ? THROTTLED - report.fired : 0;
      hint.textContent = left > 0 ? `${count(left, 'request')} still to be throttled.` : 'No request is going to be throttled.';
    },
  };
}

function overDial({ startOver, news }: Around) {
  const button = element(
    'button',
    {
      type: 'button',
      id: 'start-over',
      onclick() {
        startOver();
        news('All tables and faults are gone. The clock goes on from where it is.');
      },
    },
    'Start over',
  );
  return dial('Everything', button, element('p', { className: 'hint' }, 'Removes the tables, the faults and the log.'));
}

function dial(title: string, control: HTMLElement, ...more: HTMLElement[]): HTMLElement {
  const labelled = control instanceof HTMLSelectElement;
  const heading = labelled ? element('label', { htmlFor: control.id }, title) : element('h2', {}, title);
  return element('div', { className: 'dial' }, heading, control, ...more);
}
