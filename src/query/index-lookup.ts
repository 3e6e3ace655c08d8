/**
 * The short way of look-ups by an index: equality on its parts, of tables that answer in this thread, with nothing left to be
 * decided of the rows. One range of entries is read, and each is made into its entity, in one turn and without cursors. It
 * gives what the plan gives when it is run; a property test holds it against a scan.
 */

import { compareSlices } from '../bytes/index.js';
import { ENTRY_QUALIFIER, EntryReader, INDEX_FAMILY, VERIFIED } from '../indexes/index.js';
import { Get, type RawRow, type SyncTable } from '../table/index.js';
import type { TableAccess } from './access.js';
import { coverRow, decodesEntries } from './covered-row.js';
import type { FindOptions } from './find-options.js';
import type { IndexPlan } from './index-plan.js';
import { RowLoader } from './loader.js';
import { applyReadSet } from './projection.js';
import { scanOf } from './ranges.js';
import { giveBackRawRow, takeRawRow, valueSpan } from './row.js';

/** Rows that are read in one turn. */
const MOST = 64;

/** A look-up made ready, and where it looks. */
interface LookUp {
  readonly plan: IndexPlan;
  readonly access: TableAccess;
  readonly limit: number;
  readonly rows: SyncTable & Required<Pick<SyncTable, 'getRaw'>>;
  readonly loader: RowLoader;
}

/** The entities; undefined where the query takes the longer way. @throws what the tables and the mapper throw. */
export function lookUp(
  plan: IndexPlan,
  access: TableAccess,
  options: FindOptions,
  limit: number,
): object[] | Promise<object[]> | undefined {
  const { keyPlan, spec } = plan;
  const { sync } = access;
  const entries = access.indexing?.entries.sync;
  if (limit > MOST || limit === 0 || sync?.getRaw === undefined || entries === undefined) return undefined;
  if (access.onQuery !== undefined || spec.reversed || !isPlain(options)) return undefined;
  if (plan.rowTest !== undefined || keyPlan.check !== undefined || keyPlan.residual !== undefined) {
    return undefined;
  }
  const [range] = keyPlan.ranges;
  const { key } = spec.schema;
  if (keyPlan.kind !== 'range' || keyPlan.ranges.length !== 1 || key.dictionaries !== undefined) {
    return undefined;
  }
  if (plan.use.index.index.several !== undefined) return undefined;
  const scanner = entries.scanSync(scanOf(range!, false));
  if (scanner.nextRaw === undefined) {
    scanner.close();
    return undefined;
  }
  const loader = new RowLoader(spec.schema, access, plan.read.properties, plan.finish);
  const look: LookUp = { plan, access, limit, loader, rows: sync as LookUp['rows'] };
  const entry = takeRawRow();
  const made = takeRawRow();
  try {
    return collect(look, (into) => scanner.nextRaw!(into), entry, made);
  } finally {
    scanner.close();
    giveBackRawRow(entry);
    giveBackRawRow(made);
  }
}

function isPlain({ signal, timeout, attributes, consistency, cacheBlocks }: FindOptions): boolean {
  return (
    signal === undefined &&
    timeout === undefined &&
    attributes === undefined &&
    consistency === undefined &&
    cacheBlocks === undefined
  );
}

/** Undefined when an entry says that its row is yet to decide. */
function collect(
  look: LookUp,
  next: (into: RawRow) => boolean,
  entry: RawRow,
  made: RawRow,
): object[] | Promise<object[]> | undefined {
  const { plan, limit, loader } = look;
  const { covered, covering, use } = plan;
  const reader = new EntryReader(use.index.index);
  const decodes = covered && decodesEntries(covering);
  const expected = covered ? undefined : expectedCells(plan);
  const found: (object | Promise<object | null>)[] = [];
  let waits = false;
  while (found.length < limit && next(entry)) {
    const { bytes, start, end } = valueSpan(entry, INDEX_FAMILY, ENTRY_QUALIFIER);
    reader.read(entry.row, bytes, start, end);
    if (reader.state !== VERIFIED) return undefined;
    if (covered) coverRow(plan, decodes, reader, entry.row, bytes, made);
    else if (!fetch(look, reader.dataRow, made) || !bears(plan, expected, made, entry.row)) continue;
    const item = loader.load(made);
    if (item === null) continue;
    if (item instanceof Promise) waits = true;
    found.push(item);
  }
  if (!waits) return found as object[];
  return Promise.all(found).then((items) => items.filter((item) => item !== null));
}

function fetch({ rows, plan }: LookUp, row: Uint8Array, into: RawRow): boolean {
  const get = new Get(row);
  applyReadSet(get, plan.read);
  return rows.getRaw(get, into);
}

/** A cell that a row has when it has the values that were asked for. */
interface ExpectedCell {
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly value: Uint8Array;
}

/**
 * The cells of a row that bears out every entry of the range: where each part of the index is a column that is asked
 * for one value, and any row with these values has the entry. Undefined elsewhere.
 */
function expectedCells({ use, spec }: IndexPlan): readonly ExpectedCell[] | undefined {
  const { parts } = use.index.index;
  const cells: ExpectedCell[] = [];
  for (let i = 0; i < parts.length; i++) {
    const asked = use.key[parts[i]!];
    const column = spec.schema.columnsByProperty.get(parts[i]!);
    if (asked?.kind !== 'eq' || column?.kind !== 'column') return undefined;
    const { family, qualifier, codec } = column;
    cells.push({ family, qualifier, value: codec.encode(asked.value) });
  }
  return cells;
}

/** Whether the row bears out the entry: by the bytes of its cells, and where these say nothing by its values. */
function bears(
  { use }: IndexPlan,
  expected: readonly ExpectedCell[] | undefined,
  row: RawRow,
  entry: Uint8Array,
): boolean {
  const { index } = use;
  if (expected === undefined || !hasCells(row, expected)) return index.hasEntry(row, entry);
  return index.where === undefined || index.where.test(row);
}

function hasCells(row: RawRow, expected: readonly ExpectedCell[]): boolean {
  for (let i = 0; i < expected.length; i++) {
    const { family, qualifier, value } = expected[i]!;
    const { bytes, start, end } = valueSpan(row, family, qualifier);
    // An empty value is not told from none.
    if (end === start || compareSlices(bytes, start, end - start, value, 0, value.length) !== 0) return false;
  }
  return true;
}
