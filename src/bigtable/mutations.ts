import { UnsupportedError } from '../errors.js';
import { CellType, LATEST_TIMESTAMP } from '../table/checks.js';
import type { Delete, MutationCell, Put, RowMutation } from '../table/mutation.js';
import type { RowMutations } from '../table/row-mutations.js';
import { type KnownTable, noSuchFamily } from './descriptors.js';
import { checkCell, checkRowKey, MAX_MUTATIONS, tooLarge } from './names.js';
import { type CellMutation, SERVER_TIME, type TimestampRange, toMicros } from './wire.js';

/** Changes of rows as Bigtable's, as far as they can be said without looking at the row. */

/** The parts of a change. */
export function partsOf(change: RowMutation | RowMutations): readonly RowMutation[] {
  return change.kind === 'rowMutations' ? change.mutations : [change];
}

/** Whether what a change does depends on what is in the row. */
export function readsRow(change: RowMutation | RowMutations): boolean {
  return partsOf(change).some((part) => {
    if (part.kind === 'put') return false;
    if (part.kind !== 'delete') return true;
    if (part.cells.length === 0) return part.timestamp !== LATEST_TIMESTAMP;
    return part.cells.some(markerReadsRow);
  });
}

/** Versions of a family by their time, and "the newest": Bigtable deletes neither by itself. */
function markerReadsRow({ type, timestamp }: MutationCell): boolean {
  if (type === CellType.DeleteFamily) return timestamp !== LATEST_TIMESTAMP;
  if (type === CellType.DeleteFamilyVersion) return true;
  return type === CellType.Delete && timestamp === LATEST_TIMESTAMP;
}

/**
 * @throws RowanError `ERR_NO_SUCH_FAMILY`, `ERR_TOO_LARGE`; UnsupportedError for a time to live, or a visibility, of the change's
 * own.
 */
export function checkChange(change: RowMutation | RowMutations, known: KnownTable): void {
  checkRowKey(change.row);
  let count = 0;
  for (const part of partsOf(change)) {
    refuse(part);
    const columns = part.kind === 'put' || part.kind === 'delete' ? part.cells : part.columns;
    count += Math.max(1, columns.length);
    for (const each of columns) {
      if (!known.families.has(each.family)) throw noSuchFamily(known.descriptor.name, each.family, known);
      checkCell(each.family, each.qualifier, 'value' in each ? each.value : NO_VALUE);
    }
  }
  if (count > MAX_MUTATIONS) throw tooLarge('The change of a row has', count, 'cells', MAX_MUTATIONS);
}

const NO_VALUE = new Uint8Array(0);

function refuse({ ttl, ttlIsOptional, visibility, kind }: RowMutation): void {
  if (ttl !== undefined && !ttlIsOptional) {
    throw new UnsupportedError(
      `Bigtable has no time to live of single cells (capability cellTtl), which a ${kind} asks for. Give the family a time to live: ` +
        '@Entity({ families: { d: { ttl: … } } }), or delete what has ended by a job (docs/bigtable.md).',
    );
  }
  if (visibility !== undefined) {
    throw new UnsupportedError('Bigtable has no visibility labels. Leave out setCellVisibility.');
  }
}

/** The change, in order. It must be none that reads the row. */
export function mutationsOf(change: RowMutation | RowMutations): CellMutation[] {
  const out: CellMutation[] = [];
  for (const part of partsOf(change)) {
    if (part.kind === 'put') addPut(part, out);
    else if (part.kind === 'delete') addDelete(part, out);
  }
  return out;
}

export function addPut({ cells }: Put, out: CellMutation[]): void {
  for (const { family, qualifier, timestamp, value } of cells) {
    out.push(setCell(family, qualifier, value, timestamp));
  }
}

/** A cell of a time, or of the server's. */
export function setCell(
  familyName: string,
  columnQualifier: Uint8Array,
  value: Uint8Array,
  timestamp = LATEST_TIMESTAMP,
): CellMutation {
  const timestampMicros = timestamp === LATEST_TIMESTAMP ? SERVER_TIME : toMicros(timestamp);
  return { setCell: { familyName, columnQualifier, timestampMicros, value } };
}

/** As `mutationsOf`, of a delete. */
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

/** This millisecond. */
export function at(timestamp: number): TimestampRange {
  return { startTimestampMicros: toMicros(timestamp), endTimestampMicros: toMicros(timestamp + 1) };
}

/** Up to this millisecond, or all. */
export function upTo(timestamp: number): TimestampRange | undefined {
  return timestamp === LATEST_TIMESTAMP ? undefined : { endTimestampMicros: toMicros(timestamp + 1) };
}
