import { randomBytes } from 'node:crypto';
import { concatBytes, equalBytes, toBytes } from '../../bytes/index.js';
import type { ColumnSchema, CopySchema, EntitySchema } from '../../schema/types.js';
import { Delete, Get, Put, type Result, type TableDescriptor, tableDescriptor } from '../../table/index.js';
import { columnMutations } from '../change-flow.js';
import type { ChangeStep, EntityChange, FollowUp, OwnColumn } from '../executor.js';
import { Expiry } from '../expiry.js';
import { Link } from '../links/link.js';
import { RowImage } from '../row-image.js';

/** One declaration of copies: what the copies of a row should be, for writes, the outbox, checks and repairs alike. */

/** The cells of a source that are copied, in the order of the declared fields; undefined where there is none. */
export type CopiedValues = readonly (Uint8Array | undefined)[];

/** What is off with the copies of a row. */
export type CopyFault = 'stale' | 'missing' | 'extra';

export class CopyPlan {
  readonly link: Link;
  /** Tells the declaration from the entity's others, for as long as it copies from there by these properties. */
  readonly name: string;
  readonly fanOut: number;
  /** That hold the copies. */
  readonly columns: readonly ColumnSchema[];
  private readonly fields: readonly { readonly own: ColumnSchema; readonly from: ColumnSchema }[];
  private readonly expiry: Expiry | undefined;
  /**
   * The columns, if no other source is found by what is copied here, and a marker holds the row: then nothing is to be amended
   * behind a change of copies.
   */
  private readonly settled: readonly ColumnSchema[] | undefined;

  constructor(
    readonly entity: EntitySchema,
    readonly copy: CopySchema,
    readonly source: EntitySchema,
    now: () => number,
  ) {
    this.link = new Link(entity, copy, source);
    this.name = `${source.name} ${copy.via.map(([, property]) => property).join(' ')}`;
    this.fanOut = copy.fanOut;
    this.fields = copy.fields.map(({ column, source: from }) => ({
      own: column,
      from: source.columnsByProperty.get(from)!,
    }));
    this.columns = this.fields.map((field) => field.own);
    this.expiry = Expiry.of(entity, now);
    const own = new Set(copy.fields.map(({ column }) => column.property));
    const namesOthers = entity.copies.some(({ via }) => via.some(([, held]) => own.has(held)));
    this.settled = namesOthers || entity.marker === undefined ? undefined : this.columns;
  }

  /** Whether a change of these columns of a source that stays may change its copies. */
  copiesAny(columns: readonly ColumnSchema[]): boolean {
    return this.fields.some(({ from }) => columns.includes(from)) || this.link.named.isToldBy(columns);
  }

  /** What of a source is copied. */
  valuesOf(source: RowImage | undefined): CopiedValues {
    if (source === undefined || !this.link.named.isIn(source, 'living'))
      return this.fields.map(() => undefined);
    return this.fields.map(({ from }) => source.value(from.family, from.qualifier));
  }

  /** The source in the place of what the row names. */
  read(step: ChangeStep, target: Uint8Array): RowImage {
    const get = new Get(target);
    for (const { from } of this.fields) get.addColumn(from.family, from.qualifier);
    this.link.named.addTo(get, false);
    return RowImage.of(target, step.read(get, this.source.table.descriptor.name));
  }

  /** The columns of a row that are not what they should be. */
  differences(row: RowImage, values: CopiedValues): OwnColumn[] {
    const out: OwnColumn[] = [];
    for (let i = 0; i < values.length; i++) {
      const { family, qualifier } = this.fields[i]!.own;
      const is = row.value(family, qualifier);
      const value = values[i];
      if (is === value || (is !== undefined && value !== undefined && equalBytes(is, value))) continue;
      out.push({ family, qualifier, value });
    }
    return out;
  }

  /** Milliseconds that a copy written to the row may live. */
  lifeOf(row: RowImage): number | undefined {
    return this.expiry?.remaining(row);
  }

  /** Gives a row these values, if it still names the source; undefined: if it still names none. */
  change(row: Uint8Array, target: Uint8Array | undefined, values: CopiedValues): EntityChange {
    return target === undefined
      ? this.changeIf((image) => this.link.targetOf(image.toResult()) === undefined, row, values)
      : this.changeIf((image) => this.link.names(image, target), row, values);
  }

  /** Gives each of these rows the values, if it still names the source. */
  changes(rows: readonly Uint8Array[], target: Uint8Array, values: CopiedValues): EntityChange[] {
    const names = this.link.naming(target);
    return rows.map((row) => this.changeIf(names, row, values));
  }

  private changeIf(holds: (image: RowImage) => boolean, row: Uint8Array, values: CopiedValues): EntityChange {
    return {
      entity: this.entity,
      operation: 'mutate',
      row,
      settled: this.settled,
      resolve: (before) => {
        if (!this.link.own.isIn(before, 'deleted too') || !holds(before)) return [];
        return columnMutations(row, this.differences(before, values), this.lifeOf(before));
      },
    };
  }

  /** Makes the copies of a row what they should be; and what is off with them. */
  mend(
    row: RowImage,
    step: ChangeStep,
  ): { readonly fault: CopyFault | undefined; readonly change: EntityChange } {
    const target = this.link.targetOf(row.toResult());
    const source = target && this.read(step, target);
    const values = this.valuesOf(source);
    const off = this.differences(row, values);
    const change: EntityChange = {
      entity: this.entity,
      operation: 'mutate',
      row: row.row,
      resolve: (before) => columnMutations(row.row, off, this.lifeOf(before)),
    };
    if (off.length === 0) return { fault: undefined, change };
    if (source === undefined || !this.link.named.isIn(source, 'living')) return { fault: 'extra', change };
    const has = this.fields.some(({ own }) => row.value(own.family, own.qualifier) !== undefined);
    return { fault: has ? 'stale' : 'missing', change };
  }
}

export function areEqual(a: CopiedValues, b: CopiedValues): boolean {
  return a.every((value, i) => {
    const other = b[i];
    return value === other || (value !== undefined && other !== undefined && equalBytes(value, other));
  });
}

/**
 * Sources whose copies are still to be changed: more rows than one step is to change. docs/formats.md has the bytes.
 *
 *     row    entity 00 | name of the declaration 00 | row of the source
 *     o:t    8 random bytes, other ones for each change of the source
 */

/** FROZEN. */
export const OUTBOX_TABLE = 'rowan_outbox';
/** FROZEN. */
export const OUTBOX_FAMILY = 'o';
const TOKEN = toBytes('t');
const END = Uint8Array.of(0);

export function outboxDescriptor(): TableDescriptor {
  return tableDescriptor(OUTBOX_TABLE, { [OUTBOX_FAMILY]: {} });
}

/** A source that waits. */
export interface OutboxNote {
  readonly row: Uint8Array;
  readonly entity: string;
  readonly plan: string;
  readonly target: Uint8Array;
  readonly token: Uint8Array;
}

export function noteOf(plan: CopyPlan, target: Uint8Array): FollowUp {
  const row = concatBytes(toBytes(plan.entity.name), END, toBytes(plan.name), END, target);
  return { table: OUTBOX_TABLE, mutation: new Put(row).addColumn(OUTBOX_FAMILY, TOKEN, randomBytes(8)) };
}

/** Undefined for what is no note. */
export function readNote(result: Result): OutboxNote | undefined {
  const { row } = result;
  const first = row.indexOf(0);
  const second = row.indexOf(0, first + 1);
  const token = result.getValue(OUTBOX_FAMILY, TOKEN);
  if (first < 0 || second < 0 || token === undefined) return undefined;
  const text = (from: number, to: number): string => Buffer.from(row.subarray(from, to)).toString('utf8');
  return {
    row,
    entity: text(0, first),
    plan: text(first + 1, second),
    target: row.slice(second + 1),
    token,
  };
}

export function deleteNote({ row }: OutboxNote): FollowUp {
  return { table: OUTBOX_TABLE, mutation: new Delete(row) };
}
