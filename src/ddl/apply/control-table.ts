/**
 * The table `rowan_schema`: the lock of those who change schemas, and the plans that were applied (docs/formats.md).
 *
 * Row `l`: the lock. Row `p` and four bytes, big endian: an applied plan, numbered from 1. Row `r` and the names of two entities
 * with a zero byte between: a change of keys (docs/rekey.md). Each is one cell of JSON, `c:v`,
 * and each change of it a checkAndMutate on the bytes before.
 */

import { RowanError } from '../../errors.js';
import { compareAndSet } from '../../table/compare-and-set.js';
import { Get, Scan, type Table, type TableDescriptor, tableDescriptor } from '../../table/index.js';

const FAMILY = 'c';
const VALUE = Buffer.from('v', 'latin1');
const ENTRY = Buffer.from('p', 'latin1');
const REKEY = Buffer.from('r', 'latin1');

export const LOCK_ROW: Uint8Array = Buffer.from('l', 'latin1');

export function controlTableDescriptor(): TableDescriptor {
  return tableDescriptor('rowan_schema', { [FAMILY]: {} });
}

/** A value with the bytes it stands in: what the next change is checked against. */
export interface Kept<T> {
  readonly value: T;
  readonly bytes: Uint8Array;
}

/** Cells of JSON that are changed by compare and set. */
export class ControlTable {
  constructor(private readonly table: Table) {}

  async read<T>(row: Uint8Array): Promise<Kept<T> | undefined> {
    const bytes = (await this.table.get(new Get(row).addColumn(FAMILY, VALUE))).getValue(FAMILY, VALUE);
    return bytes === undefined ? undefined : keptOf<T>(bytes);
  }

  /** Undefined when another one was faster. An answer that was lost is found by reading what stands there. */
  async change<T>(
    row: Uint8Array,
    before: Kept<unknown> | undefined,
    value: T,
  ): Promise<Kept<T> | undefined> {
    const bytes = new Uint8Array(Buffer.from(JSON.stringify(value)));
    const place = { row, family: FAMILY, qualifier: VALUE };
    return (await compareAndSet(this.table, place, before?.bytes, bytes)) ? { value, bytes } : undefined;
  }

  /** When a value was changed last, by the clock of whoever keeps it; 0: never. */
  async changedAt(row: Uint8Array): Promise<number> {
    const found = await this.table.get(new Get(row).addColumn(FAMILY, VALUE));
    return found.getLatest(FAMILY, VALUE)?.timestamp ?? 0;
  }

  /** The applied plans, oldest first. */
  entries<T>(): Promise<Kept<T>[]> {
    return this.under(ENTRY);
  }

  /** The changes of keys, in the order of their names. */
  rekeys<T>(): Promise<Kept<T>[]> {
    return this.under(REKEY);
  }

  private async under<T>(prefix: Uint8Array): Promise<Kept<T>[]> {
    const found: Kept<T>[] = [];
    const scan = new Scan().setStartStopRowForPrefix(prefix).addColumn(FAMILY, VALUE);
    for await (const { cells } of this.table.scan(scan)) found.push(keptOf<T>(cells[0]!.value));
    return found;
  }
}

/** The row of an applied plan. */
export function entryRow(number: number): Uint8Array {
  const row = Buffer.alloc(5);
  row.set(ENTRY);
  row.writeUInt32BE(number, 1);
  return row;
}

/** The row of a change of keys: r, the entity's name, a zero byte, the other's name. */
export function rekeyRow(from: string, to: string): Uint8Array {
  return Buffer.concat([REKEY, Buffer.from(`${from}\0${to}`)]);
}

function keptOf<T>(bytes: Uint8Array): Kept<T> {
  const copy = new Uint8Array(bytes);
  try {
    return { value: JSON.parse(Buffer.from(copy).toString()) as T, bytes: copy };
  } catch (cause) {
    throw new RowanError('ERR_CORRUPTION', 'The table "rowan_schema" holds what Rowan did not write there.', {
      cause,
      details: { table: 'rowan_schema' },
    });
  }
}
