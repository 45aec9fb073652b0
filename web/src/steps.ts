// The scenario's steps: each can be run by itself, or all in order.

import { element } from './element';
import { STEPS, type Step } from './scenario';
import type { World } from './twin';
import { sentence } from './words';

type State = 'idle' | 'running' | 'done' | 'failed';
const SIGNS: Record<State, [sign: string, word: string]> = {
  idle: ['', 'not run yet'],
  running: ['…', 'running'],
  done: ['✓', 'done'],
  failed: ['!', 'failed'],
};

export interface Steps {
  /** Makes all steps as if they had not been run. */
  forget(): void;
}

export function showSteps(panel: HTMLElement, world: World, news: (text: string) => void): Steps {
  const all = element('button', { type: 'button', className: 'primary', onclick: () => void runAll() }, 'Run all steps');
  const cards = STEPS.map((step) => card(step, world, news));
  panel.append(
    element('div', { className: 'panel-head' }, element('h2', { id: 'steps-title' }, 'The scenario'), all),
    element('ol', { className: 'steps' }, ...cards.map(({ node }) => node)),
  );

  async function runAll() {
    if (busy(all)) return;
    busy(all, true);
    let failed = 0;
    for (const { run } of cards) failed += (await run()) ? 0 : 1;
    busy(all, false);
    news(failed === 0 ? `All ${cards.length} steps did what they should.` : `${failed} of ${cards.length} steps did not do what they should.`);
  }
  return { forget: () => cards.forEach(({ forget }) => forget()) };
}

/** A button that does nothing for now. It is not disabled, which would take the keyboard's focus from it. */
function busy(button: HTMLButtonElement, now?: boolean): boolean {
  if (now !== undefined) button.setAttribute('aria-disabled', String(now));
  return button.getAttribute('aria-disabled') === 'true';
}

function card(step: Step, world: World, news: (text: string) => void) {
  const sign = element('span', { className: 'sign', 'aria-hidden': 'true' });
  const word = element('span', { className: 'unseen' });
  const result = element('p', { className: 'result' });
  const button = element(
    'button',
    { type: 'button', 'aria-label': `Run: ${step.title}`, onclick: () => void clicked() },
    'Run',
  );
  const node = element(
    'li',
    { className: 'step', id: `step-${step.id}` },
    sign,
    element('div', { className: 'step-text' }, element('h3', {}, step.title, word), element('p', {}, step.about), result),
    button,
  );

  function show(state: State, text: string) {
    node.dataset['state'] = state;
    [sign.textContent, word.textContent] = [SIGNS[state][0], ` (${SIGNS[state][1]})`];
    result.textContent = text;
    result.hidden = text === '';
    busy(button, state === 'running');
  }

  async function run(): Promise<boolean> {
    show('running', '');
    try {
      show('done', await step.run(world));
      return true;
    } catch (error) {
      show('failed', sentence(error));
      return false;
    }
  }
  async function clicked() {
    if (busy(button)) return;
    await run();
    news(`${step.title}: ${result.textContent}`);
  }
  const forget = () => show('idle', '');
  forget();
  return { node, run, forget };
}
