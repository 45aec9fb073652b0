// Polling that moves the clock: the client would only wait and ask again.
import type { Answer } from './types.js';

const STEP_SECONDS = 1;
const LONGEST_SECONDS = 3600;

// A status of a description, such as `"TableStatus":"CREATING"`. Quotes inside of texts are escaped, so none is taken for it.
const UNDER_WAY = /"\w*Status":"(?:[A-Z_]*ING|IN_PROGRESS)"/;
const decoder = new TextDecoder();

export function isDescription(target: string | undefined): boolean {
  return target !== undefined && /\.Describe\w+$/.test(target);
}

/** Moves the clock with `advance` and asks again, until an answer describes no transition that is under way. */
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
