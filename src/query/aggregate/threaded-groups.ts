/** Figures of rows that threads read: they send values by groups of equal bytes, and only those are decoded here. */

import { BaseCodec } from '../../key/codecs/index.js';
import { type ColumnSchema, type EntitySchema, isSingleCell, SHADOW_QUALIFIER } from '../../schema/types.js';
import type { CellColumn, PackedGroups } from '../../table/index.js';
import type { TableAccess } from '../access.js';
import type { ReadPlan } from '../read-plan.js';
import type { ReadOptions } from '../row.js';
import { scanInThreads, type ThreadedRun } from '../threads-source.js';
import type { Group, Grouping } from './grouped-query.js';

/** A value that could not be decoded: the rows are read again, one by one, for an error that names its row, or a second try. */
class DecodeFailure extends Error {}

type Decode = (bytes: Uint8Array, start: number, end: number) => unknown;

/**
 * Adds all rows of a plan to the grouping. `by`: the properties that are grouped by; `read`: those that figures read. Undefined: threads
 * cannot compute the figures.
 */
export function groupsInThreads(
  plan: ReadPlan,
  access: TableAccess,
  options: ReadOptions,
  schema: EntitySchema,
  by: readonly string[],
  read: readonly string[],
  grouping: Grouping,
): ThreadedRun | undefined {
  const keys = by.map((property) => ownColumn(schema, property));
  const values = read.map((property) => ownColumn(schema, property));
  if (!keys.every(isOwn) || !values.every(isOwn) || plan.parts[0]?.classify !== undefined) return undefined;
  const scanner = scanInThreads(plan, access, options);
  if (scanner === undefined) return undefined;
  const { marker } = schema;
  const columns = {
    by: keys.map(placeOf),
    values: values.map(placeOf),
    ...(marker && { alone: { family: marker.family, qualifier: SHADOW_QUALIFIER } }),
  };
  const folding = new Folding(by, keys.map(decoderOf), read, values.map(decoderOf), grouping);
  return {
    run: async (tally) => {
      try {
        const { rows, bytes } = await scanner.groups(columns, folding.add);
        if (tally !== undefined) {
          tally.rows += rows;
          tally.bytes += bytes;
        }
        return true;
      } catch (error) {
        if (error instanceof DecodeFailure) return false;
        throw error;
      }
    },
    close: () => scanner.close(),
  };
}

function isOwn(column: ColumnSchema | undefined): column is ColumnSchema {
  return column !== undefined;
}

/** The column of a property that is one cell, and no part of an embedded object. */
function ownColumn({ columnsByProperty }: EntitySchema, property: string): ColumnSchema | undefined {
  const column = columnsByProperty.get(property);
  return isSingleCell(column) && column.path.length === 1 ? column : undefined;
}

function placeOf({ family, qualifier }: ColumnSchema): CellColumn {
  return { family, qualifier };
}

function decoderOf({ codec }: ColumnSchema): Decode {
  return codec instanceof BaseCodec
    ? (bytes, start, end) => codec.read(bytes, start, end)
    : (bytes, start, end) => codec.decode(bytes.slice(start, end));
}

/** Adds packets to a grouping. */
class Folding {
  /** Reused for all rows. */
  private readonly row: Record<string, unknown> = {};

  constructor(
    private readonly by: readonly string[],
    private readonly decodeKey: readonly Decode[],
    private readonly read: readonly string[],
    private readonly decodeValue: readonly Decode[],
    private readonly grouping: Grouping,
  ) {}

  readonly add = (packed: PackedGroups): void => {
    const { grouping, row, read, decodeValue } = this;
    const groups = this.groupsOf(packed);
    const { rows, groupOf, lengths, bytes } = packed;
    const columns = read.length;
    let at = 0;
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        const length = lengths[i * columns + j]!;
        row[read[j]!] = length < 0 ? undefined : decoded(decodeValue[j]!, bytes, at, length);
        if (length > 0) at += length;
      }
      grouping.addTo(groups[groupOf[i]!]!, row);
    }
  };

  private groupsOf({ groups, keys, keyLengths }: PackedGroups): readonly Group[] {
    const { by, decodeKey, grouping } = this;
    const found: Group[] = [];
    let at = 0;
    for (let i = 0; i < groups; i++) {
      const key: Record<string, unknown> = {};
      for (let j = 0; j < by.length; j++) {
        const length = keyLengths[i * by.length + j]!;
        if (length < 0) continue;
        key[by[j]!] = decoded(decodeKey[j]!, keys, at, length);
        at += length;
      }
      found.push(grouping.groupOf(key));
    }
    return found;
  }
}

/** @throws DecodeFailure */
function decoded(decode: Decode, bytes: Uint8Array, start: number, length: number): unknown {
  try {
    return decode(bytes, start, start + length);
  } catch {
    throw new DecodeFailure();
  }
}
