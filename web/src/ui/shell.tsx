// The page: code on the left, the stage on the right, time at the bottom.
import { useSignal } from '@preact/signals';
import type { App } from '../app';
import { EXAMPLES } from '../examples';
import { keepSetting } from '../keep';
import { Stage } from '../stage/stage';
import { CodePane } from './code-pane';
import { Icon } from './icon';
import { Panels } from './panels';
import { lazy } from './lazy';
import { TimeBar } from './time-bar';

const ShareDialog = lazy(() => import('./share').then((module) => module.ShareDialog));

const SENTENCE = {
  tab: 'DynamoDB in a browser tab: run AWS SDK code, move time, and watch what the service does.',
  server: 'The console of this Dynatwin server: edit tables and items, run code, move time forward.',
};

export function Shell({ app }: { app: App }) {
  const sharing = useSignal(false);
  return (
    <>
      <a class="skip" href="#stage">Skip to the stage</a>
      <header class="top">
        <h1>
          <Icon name="logo" /> Dynatwin <span>{app.isTab ? 'playground' : 'console'}</span>
        </h1>
        <p>{SENTENCE[app.transport.home]}</p>
        <div class="top-tools">
          <ExampleChoice app={app} />
          <button type="button" class="primary" onClick={() => (sharing.value = true)}>
            <Icon name="share" /> {app.isTab ? 'Share' : 'Files'}
          </button>
          <ThemeButton />
        </div>
      </header>
      {app.failure.value && <p class="failure" role="alert">{app.failure.value}</p>}
      {!app.controlled.value && <p class="banner">This server runs with <code>--no-control</code>: tables and items can be changed, clock, conditions and faults cannot.</p>}
      <main class="board">
        <CodePane app={app} />
        <div class="right">
          <Stage app={app} />
          <Panels app={app} />
        </div>
      </main>
      <TimeBar app={app} />
      <p class="unseen" role="status" aria-live="polite">{app.news.value}</p>
      {sharing.value && <ShareDialog app={app} onClose={() => (sharing.value = false)} />}
    </>
  );
}

function ExampleChoice({ app }: { app: App }) {
  const choose = (id: string) => {
    const example = EXAMPLES.find((one) => one.id === id);
    if (!example) return;
    document.getElementById('send-Code')?.click();
    if (example.shows) document.getElementById('details-Requests')?.click();
    void app.open(example);
  };
  const group = (kind: 'start' | 'lesson') =>
    EXAMPLES.filter((example) => example.kind === kind).map(({ id, title }) => (
      <option key={id} value={id}>{title}</option>
    ));
  return (
    <label class="choice">
      <span>Example</span>
      <select value={app.example.value ?? ''} onChange={(event) => choose(event.currentTarget.value)}>
        {app.example.value === undefined && <option value="">Your own code</option>}
        <optgroup label="Start here">{group('start')}</optgroup>
        <optgroup label="Lessons: wrong next to right">{group('lesson')}</optgroup>
      </select>
    </label>
  );
}

function ThemeButton() {
  const dark = useSignal(isDark());
  const turn = () => {
    dark.value = !dark.value;
    const theme = dark.value ? 'dark' : 'light';
    document.documentElement.dataset['theme'] = theme;
    keepSetting('theme', theme);
  };
  return (
    <button type="button" class="icon-button" aria-label={dark.value ? 'Light theme' : 'Dark theme'} title={dark.value ? 'Light theme' : 'Dark theme'} onClick={turn}>
      <Icon name={dark.value ? 'sun' : 'moon'} />
    </button>
  );
}

function isDark(): boolean {
  const chosen = document.documentElement.dataset['theme'];
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}
