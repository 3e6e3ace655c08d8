import { randomBytes } from 'node:crypto';
import { RowanError, UnsupportedError } from '../errors.js';
import { CellType, LATEST_TIMESTAMP } from '../table/checks.js';
import type { Delete, MutationCell, Put, RowMutation } from '../table/mutation.js';
import type { RowMutations } from '../table/row-mutations.js';
import { FENCE_FAMILY, FENCE_QUALIFIER, TOUCHED_FAMILY } from '../table/write-fence.js';
import { type KnownTable, noSuchFamily } from './descriptors.js';
import { checkCell, checkRowKey, MAX_MUTATIONS, MAX_ROW, tooLarge } from './names.js';
import { type CellMutation, SERVER_TIME, type TimestampRange, toMicros } from './wire.js';

/** Converts changes of a row to Bigtable's mutations, if the row does not have to be read for it. */

/** The parts of a change. */
export function partsOf(change: RowMutation | RowMutations): readonly RowMutation[] {
  return change.kind === 'rowMutations' ? change.mutations : [change];
}

/** Whether the effect of a change depends on the content of the row, in a way that Bigtable cannot evaluate. */
export function readsRow(change: RowMutation | RowMutations): boolean {
  return partsOf(change).some((part) => {
    if (part.kind === 'put') return false;
    if (part.kind !== 'delete') return true;
    if (part.cells.length === 0) return part.timestamp !== LATEST_TIMESTAMP;
    return part.cells.some(markerReadsRow);
  });
}

/** Bigtable cannot delete the cells of a family by timestamp, or the newest version of a column. */
function markerReadsRow({ type, timestamp }: MutationCell): boolean {
  if (type === CellType.DeleteFamily) return timestamp !== LATEST_TIMESTAMP;
  if (type === CellType.DeleteFamilyVersion) return true;
  return type === CellType.Delete && timestamp === LATEST_TIMESTAMP;
}

/**
 * Checks a change before anything is sent.
 * @throws RowanError `ERR_READONLY`, `ERR_NO_SUCH_FAMILY`, `ERR_TOO_LARGE`; UnsupportedError for a time to live or a
 * visibility label of the change.
 */
export function checkChange(change: RowMutation | RowMutations, known: KnownTable): void {
  const { name, readOnly } = known.descriptor;
  if (readOnly) {
    throw new RowanError('ERR_READONLY', `Table "${name}" is read-only. Alter it (readOnly: false) first.`, {
      details: { table: name },
    });
  }
  checkRowKey(change.row);
  let count = known.isFenced ? FENCE_MUTATIONS : 0;
  let bytes = change.row.length;
  for (const part of partsOf(change)) {
    refuse(part);
    const columns = part.kind === 'put' || part.kind === 'delete' ? part.cells : part.columns;
    count += Math.max(1, columns.length);
    for (const each of columns) {
      if (!known.families.has(each.family)) throw noSuchFamily(known.descriptor.name, each.family, known);
      const value = 'value' in each ? each.value : NO_VALUE;
      checkCell(each.family, each.qualifier, value);
      bytes += each.qualifier.length + value.length;
    }
  }
  if (bytes > MAX_ROW) throw tooLarge('The change of a row has', bytes, 'bytes', MAX_ROW);
  if (count > MAX_MUTATIONS) throw tooLarge('The change of a row has', count, 'cells', MAX_MUTATIONS);
}

const NO_VALUE = new Uint8Array(0);

function refuse({ ttl, ttlIsOptional, visibility, kind }: RowMutation): void {
  if (ttl !== undefined && !ttlIsOptional) {
    throw new UnsupportedError(
      `Bigtable has no time to live of single cells (capability cellTtl); ttl was set on a mutation (${kind}). Give the family a time to live: ` +
        '@Entity({ families: { d: { ttl: … } } }), or delete expired rows by a job (docs/bigtable.md).',
    );
  }
  if (visibility !== undefined) {
    throw new UnsupportedError('Bigtable has no visibility labels. Leave out setCellVisibility.');
  }
}

/** The mutations of a change, in order. `readsRow` must be false for it. */
export function mutationsOf(change: RowMutation | RowMutations): CellMutation[] {
  const out: CellMutation[] = [];
  for (const part of partsOf(change)) {
    if (part.kind === 'put') addPut(part, out);
    else if (part.kind === 'delete') addDelete(part, out);
  }
  return out;
}

/** The most mutations by which a change passes a fence. */
const FENCE_MUTATIONS = 3;

/**
 * The mutations of a change, with those by which it passes the fence of its table. The first one is what is refused without the
 * family; the last ones stay when the change deletes the row.
 */
export function throughFence(
  { isFenced }: KnownTable,
  mutations: readonly CellMutation[],
): readonly CellMutation[] {
  if (!isFenced) return mutations;
  const value = randomBytes(FENCE_BYTES);
  const [fence, touched] = [FENCE_FAMILY, TOUCHED_FAMILY].map((family) =>
    setCell(family, FENCE_QUALIFIER, value),
  );
  const isStamped = mutations.some(({ setCell: set }) => set?.familyName === FENCE_FAMILY);
  return isStamped ? [...mutations, touched!] : [fence!, ...mutations, fence!, touched!];
}

/** Random bytes of a fence's cell: no two changes write the same. */
const FENCE_BYTES = 12;

export function addPut({ cells }: Put, out: CellMutation[]): void {
  for (const { family, qualifier, timestamp, value } of cells) {
    out.push(setCell(family, qualifier, value, timestamp));
  }
}

/** A cell with a timestamp; LATEST_TIMESTAMP: that of the server. */
export function setCell(
  familyName: string,
  columnQualifier: Uint8Array,
  value: Uint8Array,
  timestamp = LATEST_TIMESTAMP,
): CellMutation {
  const timestampMicros = timestamp === LATEST_TIMESTAMP ? SERVER_TIME : toMicros(timestamp);
  return { setCell: { familyName, columnQualifier, timestampMicros, value } };
}

/** Adds the mutations of a delete for which `readsRow` is false. */
function addDelete(del: Delete, out: CellMutation[]): void {
  if (del.cells.length === 0) {
    out.push({ deleteFromRow: {} });
    return;
  }
  for (const { type, family, qualifier, timestamp } of del.cells) {
    if (type === CellType.DeleteFamily) out.push({ deleteFromFamily: { familyName: family } });
    else if (type === CellType.Delete) out.push(deleteCells(family, qualifier, at(timestamp)));
    else out.push(deleteCells(family, qualifier, upTo(timestamp)));
  }
}

export function deleteCells(
  familyName: string,
  columnQualifier: Uint8Array,
  timeRange: TimestampRange | undefined,
): CellMutation {
  return { deleteFromColumn: { familyName, columnQualifier, ...(timeRange && { timeRange }) } };
}

/** The cells of one millisecond. */
export function at(timestamp: number): TimestampRange {
  return { startTimestampMicros: toMicros(timestamp), endTimestampMicros: toMicros(timestamp + 1) };
}

/** The cells up to a millisecond, inclusive; undefined for LATEST_TIMESTAMP: all cells. */
export function upTo(timestamp: number): TimestampRange | undefined {
  return timestamp === LATEST_TIMESTAMP ? undefined : { endTimestampMicros: toMicros(timestamp + 1) };
}
