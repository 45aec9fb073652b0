// A lesson's outcomes: wrong next to right, under each set of conditions.
import { signal } from '@preact/signals';
import type { App } from '../app';
import type { Example } from '../examples';
import { Icon } from './icon';

const PRESETS = ['calm', 'aws', 'storm'] as const;
type Preset = (typeof PRESETS)[number];

export interface LessonResult {
  name: string;
  held: boolean;
  text: string;
}

/** The results of a lesson's runs, by its id and the conditions; the reason for a run without results. */
export const outcomes = signal<Record<string, Partial<Record<Preset, LessonResult[] | string>>>>({});
const busy = signal(false);

export async function runLesson(app: App, lesson: Example): Promise<void> {
  busy.value = true;
  outcomes.value = { ...outcomes.value, [lesson.id]: {} };
  try {
    for (const preset of PRESETS) {
      const { results, ended } = await app.lesson(preset);
      const outcome = ended || results.length >= 2 ? (results as LessonResult[]) : unfinished(app);
      outcomes.value = { ...outcomes.value, [lesson.id]: { ...outcomes.value[lesson.id], [preset]: outcome } };
    }
  } finally {
    busy.value = false;
  }
}

/** Why a run has no outcome: its last error. */
function unfinished(app: App): string {
  const error = app.run.output.value.findLast(({ level }) => level === 'error' || level === 'note');
  return `The run did not finish. ${error?.text.split('\n')[0] ?? ''}`;
}

export function LessonTable({ app, lesson }: { app: App; lesson: Example }) {
  const results = outcomes.value[lesson.id] ?? {};
  return (
    <div class="lesson" data-lesson={lesson.id}>
      <table>
        <caption class="unseen">Results under each set of conditions</caption>
        <thead>
          <tr>
            <td />
            {PRESETS.map((preset) => <th key={preset} scope="col">{preset}</th>)}
          </tr>
        </thead>
        <tbody>
          {['wrong', 'right'].map((name) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {PRESETS.map((preset) => <Cell key={preset} outcome={results[preset]} name={name} />)}
            </tr>
          ))}
        </tbody>
      </table>
      <button type="button" disabled={busy.value} onClick={() => void runLesson(app, lesson)}>
        <Icon name="play" /> {busy.value ? 'Running…' : 'Run under all three conditions'}
      </button>
    </div>
  );
}

function Cell({ outcome, name }: { outcome: LessonResult[] | string | undefined; name: string }) {
  if (outcome === undefined) return <td class="quiet">not run</td>;
  const result = typeof outcome === 'string' ? undefined : outcome.find((one) => one.name === name);
  if (!result) return <td class="quiet">{typeof outcome === 'string' ? outcome : 'no result'}</td>;
  return (
    <td data-held={result.held}>
      <b aria-label={result.held ? 'holds' : 'fails'}>{result.held ? '✓' : '✗'}</b> {result.text}
    </td>
  );
}
