// Polling that advances the clock instead of making the client poll again.
import type { Answer } from './types.js';

const STEP_SECONDS = 1;
const LONGEST_SECONDS = 3600;

// A status in a description, such as `"TableStatus":"CREATING"`. Quotes inside of texts are escaped, so they cannot
// match.
const UNDER_WAY = /"\w*Status":"(?:[A-Z_]*ING|IN_PROGRESS)"/;
const decoder = new TextDecoder();

export function isDescription(target: string | undefined): boolean {
  return target !== undefined && /\.Describe\w+$/.test(target);
}

/** Advances the clock with `advance` and repeats the request, until the answer describes no transition in progress. */
export function settled(answer: Answer, advance: (seconds: number) => void, ask: () => Answer): Answer {
  let latest = answer;
  for (let passed = 0; passed < LONGEST_SECONDS && isUnderWay(latest); passed += STEP_SECONDS) {
    advance(STEP_SECONDS);
    latest = ask();
  }
  return latest;
}

function isUnderWay({ status, body, delivery }: Answer): boolean {
  return status === 200 && delivery.kind === 'whole' && UNDER_WAY.test(decoder.decode(body));
}
