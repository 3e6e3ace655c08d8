/**
 * The short way of look-ups by an index: equality on its parts, of tables that answer in this thread, with nothing left to be
 * decided of the rows. One range of entries is read, and each is made into its entity, in one turn and without cursors. It
 * gives what the plan gives when it is run; a property test holds it against a scan.
 */

import { ENTRY_QUALIFIER, EntryReader, INDEX_FAMILY, VERIFIED } from '../indexes/index.js';
import { Get, type RawRow, type SyncTable } from '../table/index.js';
import type { TableAccess } from './access.js';
import { BornOut } from './born-out.js';
import { coverRow, decodesEntries } from './covered-row.js';
import { type FindOptions, isPlain } from './find-options.js';
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
  const bornOut = new BornOut(use.index);
  const found: (object | Promise<object | null>)[] = [];
  let waits = false;
  while (found.length < limit && next(entry)) {
    const { bytes, start, end } = valueSpan(entry, INDEX_FAMILY, ENTRY_QUALIFIER);
    reader.read(entry.row, bytes, start, end);
    if (reader.state !== VERIFIED) return undefined;
    if (covered) coverRow(use.index, covering, decodes, reader, entry.row, bytes, made);
    else if (!fetch(look, reader.dataRow, made) || !bornOut.test(made, use.key, entry.row)) continue;
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
