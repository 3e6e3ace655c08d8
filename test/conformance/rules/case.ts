/** Cases of the rules R1-R88 as data: what is written, and what each query then answers, wherever the cells lie. */

import { fromLatin1, toLatin1 } from '../../../src/bytes/index.js';
import {
  Append,
  type Cell,
  CellType,
  CheckAndMutate,
  type CompareOperator,
  Delete,
  type FamilyOptions,
  type Filter,
  Get,
  Increment,
  Put,
  RowMutations,
  Scan,
  type Table,
} from '../../../src/table/index.js';

/**
 * Where the cells of a case lie when it is queried. "minor": flushed after each write, then compacted as the policy
 * finds it worth while; from three files on it merges them all, and a merge of all files drops markers.
 */
export const PLACEMENTS = ['memstore', 'flushEach', 'flushEnd', 'minor', 'major', 'split'] as const;
export type Placement = (typeof PLACEMENTS)[number];

/** What a step is run with. */
interface StepContext {
  readonly table: Table;
  readonly now: number;
}

/** One write. Its time is in milliseconds; below zero it counts back from now. */
type Step = (context: StepContext) => Promise<unknown>;

export interface Query {
  readonly ask: (context: StepContext) => Promise<string[]>;
  /** In result order: a put's value, a marker as its type and timestamp ("DC@11"). */
  readonly expect: readonly string[];
  /** Placements whose answer differs, with the rule's reason in the case's title. */
  readonly instead?: Partial<Record<Placement, readonly string[]>>;
}

export interface RuleCase {
  /** "R8" or "R8b". */
  readonly id: string;
  readonly title: string;
  /** Default: one family "f" of three versions. */
  readonly families?: Readonly<Record<string, FamilyOptions>>;
  readonly writes: readonly Step[];
  readonly queries: readonly Query[];
}

const TYPE_NAMES: Readonly<Record<number, string>> = {
  [CellType.Delete]: 'D',
  [CellType.DeleteColumn]: 'DC',
  [CellType.DeleteFamily]: 'DF',
  [CellType.DeleteFamilyVersion]: 'DFV',
};

const ROW = fromLatin1('r');

function at(time: number, { now }: StepContext): number {
  return time < 0 || Object.is(time, -0) ? now + time : time;
}

interface Where {
  readonly row?: string;
  readonly family?: string;
  /** Milliseconds. */
  readonly ttl?: number;
}

function rowOf(where: Where): Uint8Array {
  return where.row === undefined ? ROW : fromLatin1(where.row);
}

/** A put with a timestamp. */
export function put(qualifier: string, time: number, value: string, where: Where = {}): Step {
  return async (context) =>
    context.table.put(
      new Put(rowOf(where))
        .addColumn(where.family ?? 'f', fromLatin1(qualifier), fromLatin1(value), at(time, context))
        .setTtl(where.ttl),
    );
}

/** A put whose timestamp the engine gives. */
export function putNow(qualifier: string, value: string, where: Where = {}): Step {
  return async ({ table }) =>
    table.put(
      new Put(rowOf(where))
        .addColumn(where.family ?? 'f', fromLatin1(qualifier), fromLatin1(value))
        .setTtl(where.ttl),
    );
}

type Marker = 'column' | 'columns' | 'family' | 'familyVersion' | 'row' | 'newest';

function deletion(kind: Marker, qualifier: string, time: number, where: Where, context: StepContext): Delete {
  const family = where.family ?? 'f';
  const timestamp = at(time, context);
  if (kind === 'row') return new Delete(rowOf(where), timestamp);
  const del = new Delete(rowOf(where));
  if (kind === 'column') return del.addColumn(family, fromLatin1(qualifier), timestamp);
  if (kind === 'columns') return del.addColumns(family, fromLatin1(qualifier), timestamp);
  if (kind === 'family') return del.addFamily(family, timestamp);
  if (kind === 'familyVersion') return del.addFamilyVersion(family, timestamp);
  return del.addColumn(family, fromLatin1(qualifier));
}

/** A delete of one marker. */
export function del(kind: Marker, qualifier: string, time: number, where: Where = {}): Step {
  return async (context) => context.table.delete(deletion(kind, qualifier, time, where, context));
}

/** Any write. */
export function write(action: (table: Table, now: number) => Promise<unknown>): Step {
  return ({ table, now }) => action(table, now);
}

export function increment(qualifier: string, amount: number, where: Where = {}): Step {
  return async ({ table }) =>
    table.increment(
      new Increment(rowOf(where))
        .addColumn(where.family ?? 'f', fromLatin1(qualifier), amount)
        .setTtl(where.ttl),
    );
}

export function append(qualifier: string, value: string): Step {
  return async ({ table }) =>
    table.append(new Append(ROW).addColumn('f', fromLatin1(qualifier), fromLatin1(value)));
}

/** A check of `f:qualifier` and the put of `f:done` = "yes" if it holds. */
export function check(qualifier: string, operator: CompareOperator, value: string | null): Step {
  return async ({ table }) =>
    table.checkAndMutate(
      CheckAndMutate.ifMatches(
        {
          family: 'f',
          qualifier: fromLatin1(qualifier),
          operator,
          value: value === null ? null : fromLatin1(value),
        },
        new Put(ROW).addColumn('f', 'done', 'yes'),
      ),
    );
}

/** Several writes of the row that take effect together. */
export function together(build: (row: Uint8Array) => (Put | Delete)[]): Step {
  return async ({ table }) => table.mutateRow(new RowMutations(ROW).add(...build(ROW)));
}

interface Asked {
  readonly versions?: number | 'all';
  /** [from, to); times below zero count back from now. */
  readonly timeRange?: readonly [number, number];
  readonly columns?: readonly string[];
  readonly families?: readonly string[];
  readonly filter?: Filter;
  readonly row?: string;
  readonly raw?: boolean;
}

function describeQuery(query: Get | Scan, asked: Asked, context: StepContext): void {
  if (asked.versions === 'all') query.readAllVersions();
  else if (asked.versions !== undefined) query.readVersions(asked.versions);
  if (asked.timeRange) query.setTimeRange(at(asked.timeRange[0], context), at(asked.timeRange[1], context));
  for (const family of asked.families ?? []) query.addFamily(family);
  for (const column of asked.columns ?? []) query.addColumn('f', fromLatin1(column));
  query.setFilter(asked.filter).setRaw(asked.raw ?? false);
}

function show(cell: Cell): string {
  if (cell.type === CellType.Put) return toLatin1(cell.value);
  return `${TYPE_NAMES[cell.type]}@${cell.timestamp}`;
}

/** A get of the row. */
export function get(asked: Asked, expect: readonly string[], instead: Query['instead'] = {}): Query {
  return {
    expect,
    instead,
    ask: async (context) => {
      const query = new Get(asked.row === undefined ? ROW : fromLatin1(asked.row));
      describeQuery(query, asked, context);
      return (await context.table.get(query)).cells.map(show);
    },
  };
}

interface AskedScan extends Asked {
  readonly reversed?: boolean;
  readonly start?: readonly [string, boolean];
  readonly stop?: readonly [string, boolean];
  readonly limit?: number;
  readonly perFamily?: { readonly limit: number; readonly offset: number };
  /** Rows besides values: "row:value". */
  readonly rows?: boolean;
}

export function scan(asked: AskedScan, expect: readonly string[], instead: Query['instead'] = {}): Query {
  return {
    expect,
    instead,
    ask: async (context) => {
      const query = new Scan().setReversed(asked.reversed ?? false).setLimit(asked.limit);
      if (asked.start) query.withStartRow(fromLatin1(asked.start[0]), asked.start[1]);
      if (asked.stop) query.withStopRow(fromLatin1(asked.stop[0]), asked.stop[1]);
      if (asked.perFamily) {
        query
          .setMaxResultsPerColumnFamily(asked.perFamily.limit)
          .setRowOffsetPerColumnFamily(asked.perFamily.offset);
      }
      describeQuery(query, asked, context);
      const out: string[] = [];
      for await (const result of context.table.scan(query)) {
        for (const cell of result.cells)
          out.push(asked.rows ? `${toLatin1(cell.row)}:${show(cell)}` : show(cell));
      }
      return out;
    },
  };
}

/** A raw scan of everything that is stored. */
export function stored(expect: readonly string[], instead: Query['instead'] = {}): Query {
  return scan({ raw: true, versions: 'all' }, expect, instead);
}

/** That an operation is refused with this code. */
export function refused(action: (table: Table, now: number) => Promise<unknown>, code: string): Query {
  return {
    expect: [code],
    ask: async ({ table, now }) => {
      try {
        await action(table, now);
        return ['accepted'];
      } catch (error) {
        return [(error as { code?: string }).code ?? String(error)];
      }
    },
  };
}
