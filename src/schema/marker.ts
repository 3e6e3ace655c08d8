import { describe } from '../table/checks.js';
import { FOREVER, type TableDescriptor } from '../table/descriptor.js';
import { type Cell, CellWithTtl } from '../table/index.js';
import type { CollectedEntity } from './collect.js';
import type { Problems } from './problems.js';
import { MARKER_VALUE, type Marker } from './types.js';

// — The values of marker cells: one byte, the version as which the row was written; for an entity with a TTL, 8 more
// bytes, big-endian: the time of expiry in ms.

export const LAST_VERSION = 255;

const VALUES = new Map<number, Uint8Array>([[1, MARKER_VALUE]]);

/** The marker value of a version, the same object at each call. */
export function markerValue(version: number): Uint8Array {
  let value = VALUES.get(version);
  if (value === undefined) {
    value = Uint8Array.of(version);
    VALUES.set(version, value);
  }
  return value;
}

/** The marker value of a version, for a row that expires at `end` (ms). Undefined: it does not expire. */
export function markerUntil(version: number, end: number | undefined): Uint8Array {
  if (end === undefined) return markerValue(version);
  const value = Buffer.alloc(9);
  value[0] = version;
  value.writeBigUInt64BE(BigInt(end), 1);
  return new Uint8Array(value);
}

/**
 * The expiry of a row by its marker (ms). Undefined: it does not expire, as a row that was written before its entity declared a TTL.
 * Markers of earlier releases hold none: then that of the cell.
 */
export function endOf(marker: Cell): number | undefined {
  const { value, timestamp } = marker;
  if (value.length === 9) return Number(Buffer.from(value).readBigUInt64BE(1));
  return marker instanceof CellWithTtl ? timestamp + marker.ttl : undefined;
}

/** The version in a marker. Undefined when Rowan did not write it, or it was read without its value. */
export function versionOf(marker: Uint8Array): number | undefined {
  return marker.length === 1 || marker.length === 9 ? marker[0] : undefined;
}

// — Compiles `@Entity({ changes })`: the retention time of changes, and the family of row marks.

/** The declared recording of changes. */
interface DeclaredChanges {
  /** Milliseconds. Undefined: changes are not recorded. */
  readonly changesKept: number | undefined;
  /** The family that holds the marks of rows. Undefined: none is declared. */
  readonly changeMarks: string | undefined;
}

/** An entity, as far as marks are concerned. */
interface MarkedEntity extends Pick<DeclaredChanges, 'changeMarks'> {
  readonly source: { readonly name: string };
  readonly columns: { readonly columns: readonly { readonly family: string }[] };
  readonly marker: Marker | undefined;
}

/** The longest TTL of a cell, ms. */
const LONGEST_KEPT = 2 ** 52 - 1;
const NOT_KEPT: DeclaredChanges = { changesKept: undefined, changeMarks: undefined };

export function changesOf(source: CollectedEntity, problems: Problems): DeclaredChanges {
  const changes: unknown = source.declaration.changes;
  if (changes === undefined) return NOT_KEPT;
  const isObject = typeof changes === 'object' && changes !== null;
  const keep: unknown = isObject ? Reflect.get(changes, 'keep') : undefined;
  const marks: unknown = isObject ? Reflect.get(changes, 'marks') : undefined;
  const others = isObject ? Object.keys(changes).filter((name) => name !== 'keep' && name !== 'marks') : [];
  const isKept = Number.isSafeInteger(keep) && Number(keep) > 0 && Number(keep) <= LONGEST_KEPT;
  if (isKept && others.length === 0 && (marks === undefined || typeof marks === 'string'))
    return { changesKept: Number(keep), changeMarks: marks };
  const wrong =
    others.length > 0
      ? `Its changes have the option "${others[0]}".`
      : isKept
        ? `The marks of its changes are ${describe(marks)}.`
        : `Its changes are kept for ${isObject ? describeKeep(keep) : describe(changes)}.`;
  problems.add(
    source.name,
    undefined,
    wrong,
    'Give changes: { keep }, a whole number of milliseconds above 0, and for HBase marks, the name of a family; or leave it out.',
  );
  return NOT_KEPT;
}

function describeKeep(keep: unknown): string {
  return typeof keep === 'number' ? String(keep) : describe(keep);
}

/** Deleted rows keep their mark for a while, so it must not be a cell that is read with an entity. */
export function checkMarks(
  { families }: TableDescriptor,
  entities: readonly MarkedEntity[],
  problems: Problems,
): void {
  for (const { source, changeMarks: marks } of entities) {
    if (marks === undefined) continue;
    const add = (what: string, remedy: string): void => problems.add(source.name, undefined, what, remedy);
    const family = families.find(({ name }) => name === marks);
    if (family === undefined) {
      add(
        `Its changes are marked in the family "${marks}", which its table has not.`,
        `Declare it: families: { ${marks}: {} }.`,
      );
      continue;
    }
    const other = entities.find(
      ({ columns, marker }) =>
        marker?.family === marks || columns.columns.some((column) => column.family === marks),
    );
    if (other !== undefined)
      add(
        `Its changes are marked in the family "${marks}", in which ${other.source.name} has columns.`,
        'Give marks a family of the table in which nothing else stands.',
      );
    if (family.ttl !== FOREVER)
      add(
        `Its changes are marked in the family "${marks}", whose cells end by themselves.`,
        'Leave the time to live of that family out: marks end when they are needed no more.',
      );
  }
}
