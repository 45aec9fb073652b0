// The exports of every build of the package, in addition to its own `ready`.
export type { Attachment } from './attach.js';
export * as controls from './controls.js';
export type { CapacitySpent } from './spent.js';
export { passPauses } from './passing.js';
export { Dynatwin } from './twin.js';
export type * from './types.js';
