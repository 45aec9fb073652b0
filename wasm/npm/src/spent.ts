// The capacity that a block of code consumes.

/** Units of one table or index, as the engine counts them. */
export interface ResourceSpent {
  table: string;
  index?: string;
  read: number;
  write: number;
}

/** The capacity consumed by tables and their global indexes. */
export class CapacitySpent {
  readonly #resources: ResourceSpent[];

  constructor(before: ResourceSpent[], after: ResourceSpent[]) {
    const then = (now: ResourceSpent) => before.find(({ table, index }) => table === now.table && index === now.index);
    const spent = after.map((now) => ({ ...now, read: now.read - (then(now)?.read ?? 0), write: now.write - (then(now)?.write ?? 0) }));
    this.#resources = spent.filter(({ read, write }) => read > 0 || write > 0);
  }

  #of(table: string, index?: string): ResourceSpent | undefined {
    return this.#resources.find((each) => each.table === table && each.index === index);
  }

  /** Returns the read units of a table and its local indexes, without its global ones. */
  read(table: string): number {
    return this.#of(table)?.read ?? 0;
  }

  /** Returns the write units of a table and its local indexes, without its global ones. */
  write(table: string): number {
    return this.#of(table)?.write ?? 0;
  }

  /** Returns the read units of a global index. */
  indexRead(table: string, index: string): number {
    return this.#of(table, index)?.read ?? 0;
  }

  /** Returns the write units of a global index. */
  indexWrite(table: string, index: string): number {
    return this.#of(table, index)?.write ?? 0;
  }

  /** The read units of all tables and indexes. */
  get totalRead(): number {
    return this.#resources.reduce((sum, { read }) => sum + read, 0);
  }

  /** The write units of all tables and indexes. */
  get totalWrite(): number {
    return this.#resources.reduce((sum, { write }) => sum + write, 0);
  }

  /** Returns text such as `Orders: 0 read, 1 write; index by-date of Orders: 0 read, 1 write`, or `nothing`. */
  toString(): string {
    const place = ({ table, index }: ResourceSpent) => (index === undefined ? table : `index ${index} of ${table}`);
    return this.#resources.map((each) => `${place(each)}: ${each.read} read, ${each.write} write`).join('; ') || 'nothing';
  }
}
