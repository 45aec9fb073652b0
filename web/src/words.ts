// What to say when a request was refused, in words that help.

import { TABLE } from './scenario';

const HINTS: Record<string, string> = {
  ResourceNotFoundException: `There is no table ${TABLE} yet: run “Create the table” first.`,
  ConditionalCheckFailedException: 'The condition did not hold: what the step is about is already so, or not yet there.',
  ProvisionedThroughputExceededException: 'Throttled, and still throttled when the SDK had tried three times.',
  ThrottlingException: 'Throttled, and still throttled when the SDK had tried three times.',
  InternalServerError: 'The service failed, and failed again when the SDK had tried three times.',
  TimeoutError: 'No answer came.',
};

/** A sentence for an error, with the error's own name and text behind it. */
export function sentence(error: unknown): string {
  if (!(error instanceof Error)) return `Something went wrong: ${String(error)}`;
  const hint = HINTS[error.name];
  const plain = error.name === 'Error' ? error.message : `${error.name}: ${error.message}`;
  return hint ? `${hint} (${plain})` : plain;
}
