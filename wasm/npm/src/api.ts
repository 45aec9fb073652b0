// What every build of the package exports, beside its own `ready`.
export type { Attachment } from './attach.js';
export type { CapacitySpent } from './spent.js';
export { passPauses } from './passing.js';
export { Dynatwin } from './twin.js';
export type * from './types.js';
