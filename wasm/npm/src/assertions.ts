// Assertions about what a twin has recorded.
import type { FaultReport, Scan } from './types.js';

export function assertNoScans(watched: boolean, scans: Scan[]): void {
  if (!watched && scans.length === 0) {
    throw new Error('dynatwin: the twin is not watched: call twin.watch(), or create the twin with watch: true, before the requests.');
  }
  if (scans.length > 0) throw new Error(['dynatwin: these scans were recorded:', ...scans.map(complaint)].join('\n'));
}

export function assertFaultsFired(idle: FaultReport[]): void {
  if (idle.length === 0) return;
  const lines = idle.map(({ rule, matched }) => `- ${JSON.stringify(rule)}: ${matched} matched`);
  throw new Error(['dynatwin: fault rules that never acted, so the test did not exercise them:', ...lines].join('\n'));
}

function complaint(scan: Scan): string {
  const { operation, table, index, caller, first, scanned, times } = scan;
  const place = index === undefined ? table : `index ${index} of ${table}`;
  const who = `by access key ${caller.accessKey} in ${caller.region}, first at ${first.toISOString()}`;
  return `- ${operation} of ${place} ${who}: ${count(scanned, 'item')} read in ${count(times, 'page')}.\n  ${advice(scan)}`;
}

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;

// Suggests the scanned index or table first.
function advice({ operation, table, index, partitionKeys }: Scan): string {
  const keys = [...partitionKeys].sort((a, b) => Number(a.index !== index) - Number(b.index !== index));
  if (operation === 'Scan') {
    const ways = keys.map(({ index, attribute }) => {
      const place = index === undefined ? '' : `IndexName "${index}" and `;
      return `${place}KeyConditionExpression "${attribute} = :value"`;
    });
    return `A Query reads only the items of one partition key: ${ways.join(', or ')}.`;
  }
  const ways = keys.map(({ index, attribute }) => {
    const place = index === undefined ? '' : `."${index}"`;
    return `FROM "${table}"${place} WHERE "${attribute}" = ?`;
  });
  return `A SELECT that fixes the partition key reads only its items: ${ways.join(', or ')}.`;
}
