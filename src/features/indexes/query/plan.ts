/** Plans a query by an index: which entries are read, and which columns of their rows. */

import { compareBytes } from '../../../bytes/index.js';
import { QueryError } from '../../../errors.js';
import { BaseCodec, storedCodec } from '../../../key/codecs/index.js';
import type { KeyPlan, PartCondition } from '../../../key/types.js';
import { type Condition, conjuncts, keyPartAsCondition } from '../../../query/condition.js';
import { compileCondition, type RowTest } from '../../../query/evaluate.js';
import type { PathPlan } from '../../../query/path-planner.js';
import { finishOf } from '../../../query/plan.js';
import {
  type ReadSet,
  readAll,
  readColumns,
  selectColumns,
  storedParts,
  testedColumns,
} from '../../../query/projection.js';
import type { QuerySpec } from '../../../query/query-spec.js';
import type { Finish } from '../../../query/row.js';
import { type ColumnSchema, type EntitySchema, isSingleCell, MARKER_VALUE } from '../../../schema/types.js';
import { FOREVER, LATEST_TIMESTAMP, type RawRow } from '../../../table/index.js';
import type { EntityIndex } from '../entity-indexes.js';
import { type EntryReader, INDEX_FAMILY } from '../entry.js';
import type { IndexUse } from './access.js';

/** A cell of a covered row, and where its value comes from. */
export interface CoveringCell {
  readonly family: string;
  readonly qualifier: Uint8Array;
  /** The column. Undefined: the marker. */
  readonly column: ColumnSchema | undefined;
  /** The position among the included columns. -1: the value is in the entry's row. */
  readonly at: number;
}

export interface IndexPlan extends PathPlan {
  readonly spec: QuerySpec;
  readonly use: IndexUse;
  /** The ranges of entries. */
  readonly keyPlan: KeyPlan;
  /** Whether entries hold everything the query needs, so that no rows are read. */
  readonly covered: boolean;
  /** The cells of a covered row, in HBase's order. Empty where rows are read. */
  readonly covering: readonly CoveringCell[];
  /** The columns to read, or to build from entries. */
  readonly read: ReadSet;
  /** Conditions left to be tested on rows, beyond those on the index's parts. */
  readonly local: readonly Condition[];
  readonly rowTest: RowTest | undefined;
  readonly finish: Finish | undefined;
}

/**
 * @throws KeyError on conditions that the index cannot search; QueryError on time conditions, which entries do not
 * store; `ERR_FULL_SCAN` where a whole index over every row would be read without `fullScan`.
 */
export function planIndex(spec: QuerySpec, use: IndexUse): IndexPlan {
  const { schema } = spec;
  const index = use.path;
  if (spec.timeRange !== undefined) throw noTimes(schema, index);
  const keyPlan = index.index.layout.plan(use.key);
  if (Object.values(use.key).every(isAnyText) && index.where === undefined && !spec.fullScan) {
    throw new QueryError(
      `by("${index.index.name}") on ${schema.name} would read the whole index, an entry for every row. Give at least the part ` +
        `"${index.index.parts[0]}", or allow it with { fullScan: true }.`,
      { code: 'ERR_FULL_SCAN', details: { entity: schema.name, index: index.index.name } },
    );
  }
  const conditions = conditionsOf(spec, use, keyPlan);
  const { covered, covering, read } =
    conditions.length === 0 && spec.slices.length === 0
      ? PlainReadings.of(index).of(spec)
      : readingOf(spec, index, conditions);
  return {
    spec,
    use,
    keyPlan,
    covered,
    covering,
    read,
    local: conditions,
    rowTest: conditions.length === 0 ? undefined : compileCondition({ kind: 'all', conditions }, schema),
    finish: finishOf(spec),
  };
}

/** Whether every value satisfies the condition: each text starts with the empty one. */
function isAnyText(asked: PartCondition): boolean {
  return asked.kind === 'startsWith' && (asked.value as ArrayLike<unknown>).length === 0;
}

/** Conditions that must still be tested on rows. */
function conditionsOf(spec: QuerySpec, use: IndexUse, { inexactParts }: KeyPlan): readonly Condition[] {
  if (inexactParts.length === 0 && spec.where.length === 0 && Object.keys(spec.key).length === 0) {
    return NO_CONDITIONS;
  }
  return [
    ...Object.entries(spec.key).flatMap(([part, asked]) =>
      isDecided(spec, use, part, asked) ? [] : conjuncts(keyPartAsCondition(part, asked)),
    ),
    ...inexactParts.flatMap((part) =>
      use.key[part] === undefined ? [] : conjuncts(keyPartAsCondition(part, use.key[part])),
    ),
    ...spec.where.flatMap(conjuncts).filter((condition) => !use.served.has(condition)),
  ];
}

/**
 * Whether the range of entries decides a condition on a part of the key: it is that of the same condition. Of a range of values
 * both must order their bytes so.
 */
function isDecided({ schema }: QuerySpec, use: IndexUse, part: string, asked: PartCondition): boolean {
  const ofEntries = use.key[part];
  if (ofEntries?.kind === 'eq' && asked.kind === 'eq') return ofEntries.value === asked.value;
  if (ofEntries?.kind !== 'range' || asked.kind !== 'range') return false;
  const isOrdered = [schema.key, use.path.index.layout].every(({ parts }) => {
    const codec = storedCodec(parts.find(({ name }) => name === part)!.codec);
    return codec instanceof BaseCodec && codec.ordered;
  });
  return isOrdered && isSameBound(ofEntries.lower, asked.lower) && isSameBound(ofEntries.upper, asked.upper);
}

type Bound = Extract<PartCondition, { kind: 'range' }>['lower'];

function isSameBound(a: Bound, b: Bound): boolean {
  return a?.value === b?.value && a?.inclusive === b?.inclusive;
}

const NO_CONDITIONS: readonly Condition[] = Object.freeze([]);

/** The columns that a query reads, and whether entries cover them. */
export type Reading = Pick<IndexPlan, 'covered' | 'covering' | 'read'>;

/**
 * Caches what is read for queries without local conditions, by their selection. Look-ups by an index are such
 * queries.
 */
export class PlainReadings {
  private static readonly kept = new WeakMap<EntityIndex, PlainReadings>();
  private whole: Reading | undefined;
  private readonly bySingle = new Map<string, Reading>();
  private readonly bySeveral = new Map<string, Reading>();

  private constructor(private readonly index: EntityIndex) {}

  static of(index: EntityIndex): PlainReadings {
    let kept = PlainReadings.kept.get(index);
    if (kept === undefined) {
      kept = new PlainReadings(index);
      PlainReadings.kept.set(index, kept);
    }
    return kept;
  }

  /** @throws QueryError on an unknown property. */
  of(spec: QuerySpec): Reading {
    const { selected } = spec;
    if (selected === undefined) {
      this.whole ??= readingOf(spec, this.index, []);
      return this.whole;
    }
    const single = selected.length === 1;
    const kept = single ? this.bySingle : this.bySeveral;
    const names = single ? selected[0]! : JSON.stringify(selected);
    let reading = kept.get(names);
    if (reading === undefined) {
      reading = readingOf(spec, this.index, []);
      if (kept.size >= KEPT_READINGS) kept.clear();
      kept.set(names, reading);
    }
    return reading;
  }
}

/** The most cached selections of an index. */
const KEPT_READINGS = 64;

function readingOf(spec: QuerySpec, index: EntityIndex, conditions: readonly Condition[]): Reading {
  const { schema } = spec;
  const tested = testedColumns(schema, conditions);
  const selected = spec.selected === undefined ? undefined : selectColumns(schema, spec.selected);
  const covered = selected !== undefined && isCovered(spec, index, [...selected, ...tested]);
  return {
    covered,
    covering: covered ? coveringCells(schema, index, [...selected, ...tested]) : [],
    read: readSet(schema, selected, covered ? tested : [...tested, ...index.columns]),
  };
}

function coveringCells(
  schema: EntitySchema,
  { index }: EntityIndex,
  columns: readonly ColumnSchema[],
): CoveringCell[] {
  const needed = [...new Set([...columns, ...storedParts(schema)])];
  const cells: CoveringCell[] = needed.map((column) => ({
    family: column.family,
    qualifier: column.qualifier,
    column,
    at: index.included.indexOf(column),
  }));
  if (schema.marker !== undefined) cells.push({ ...schema.marker, column: undefined, at: -1 });
  return cells.sort((a, b) =>
    a.family === b.family
      ? compareBytes(a.qualifier, b.qualifier)
      : Buffer.compare(Buffer.from(a.family), Buffer.from(b.family)),
  );
}

function readSet(
  schema: EntitySchema,
  selected: readonly ColumnSchema[] | undefined,
  tested: readonly ColumnSchema[],
): ReadSet {
  if (selected === undefined) return readAll(schema);
  return readColumns(schema, selected, tested, new Set(selected.map(({ property }) => property)));
}

/** Whether entries have all of these columns, and expire with their rows. */
function isCovered(
  { schema, slices }: QuerySpec,
  { index }: EntityIndex,
  columns: readonly ColumnSchema[],
): boolean {
  if (slices.length > 0 || index.several !== undefined || schema.marker === undefined) return false;
  // Entries of an eventual index may be older than their rows.
  if (index.eventual) return false;
  if (schema.timeToLive.lifelong) return false;
  const { families } = schema.table.descriptor;
  if (families.some(({ name, ttl }) => ttl !== FOREVER && schema.families.includes(name))) return false;
  return [...columns, ...storedParts(schema)].every(
    (column) => index.included.includes(column) || isKept(index, column),
  );
}

/** Whether the column's value can be decoded from an entry's row. */
function isKept(index: EntityIndex['index'], column: ColumnSchema): boolean {
  const part = index.layout.parts.find(({ name }) => name === column.property);
  return part?.recoverable === true && isSingleCell(column) && sameCodec(part.codec.name, column);
}

/** Whether the part's codec distinguishes, and decodes to, the same values as the column's. */
export function sameCodec(part: string, { codec, kind }: ColumnSchema): boolean {
  const inner = /^desc\((.*)\)$/.exec(part)?.[1] ?? part;
  if (inner === codec.name || REVERSED.test(inner)) return true;
  return kind === 'counter' && inner === 'int64';
}

/** Reversible transforms of a whole value. Their codecs throw on values of another type. */
const REVERSED = /^(reverse|reverseDomain|reverseDigits|reverseTimestamp)\b/;

function noTimes(schema: EntitySchema, { index }: EntityIndex): QueryError {
  return new QueryError(
    `The index "${index.name}" of ${schema.name} holds present values only, so it cannot answer asOf() and writtenBetween(). ` +
      'Ask by the key, or allow { fullScan: true }.',
    { details: { entity: schema.name, index: index.name } },
  );
}

/** The read set of entries: all columns. */
export const ENTRY_READ: ReadSet = {
  families: new Map([[INDEX_FAMILY, null]]),
  everything: [INDEX_FAMILY],
  properties: undefined,
  versions: 1,
};

// — Covered reads: rows built from entries alone.

/** Whether values must be decoded from the entry's row. */
export function decodesEntries(covering: readonly CoveringCell[]): boolean {
  return covering.some(({ column, at }) => column !== undefined && at < 0);
}

/**
 * Builds the row of the entry at `entry`, which `reader` has decoded from `bytes`. `decodes`: result of {@link
 * decodesEntries}.
 */
export function coverRow(
  { index }: EntityIndex,
  covering: readonly CoveringCell[],
  decodes: boolean,
  reader: EntryReader,
  entry: Uint8Array,
  bytes: Uint8Array,
  into: RawRow,
): void {
  into.begin(reader.dataRow);
  const values = decodes ? index.layout.decode(entry) : undefined;
  for (let i = 0; i < covering.length; i++) {
    const { family, qualifier, column, at } = covering[i]!;
    if (column === undefined) {
      into.add(family, qualifier, LATEST_TIMESTAMP, MARKER_VALUE, 0, MARKER_VALUE.length);
    } else if (at < 0) {
      const value = column.codec.encode(values![column.property]);
      into.add(family, qualifier, LATEST_TIMESTAMP, value, 0, value.length);
    } else if (reader.starts[at]! >= 0) {
      const from = reader.starts[at]!;
      into.add(family, qualifier, LATEST_TIMESTAMP, bytes, from, reader.ends[at]! - from);
    }
  }
}
