import { toStringBinary } from '../bytes/index.js';
import { AvroCodec } from '../codec/index.js';
import type { EntitySchema } from './types.js';

/** A column that holds Avro. */
export interface AvroColumn {
  /** What its schemas are registered under: table, record type and column, which outlive the names of classes. */
  readonly subject: string;
  readonly codec: AvroCodec<unknown>;
}

/** The subject of a column. */
export function avroSubject(
  table: string,
  recordType: number | undefined,
  family: string,
  qualifier: Uint8Array,
): string {
  return `${table}${recordType === undefined ? '' : `#${recordType}`}/${family}:${toStringBinary(qualifier)}`;
}

/** The columns of an entity that hold Avro. */
export function avroColumns(entity: EntitySchema): AvroColumn[] {
  const table = entity.table.descriptor.name;
  return entity.columns.flatMap(({ family, qualifier, codec }) =>
    codec instanceof AvroCodec
      ? [{ subject: avroSubject(table, entity.key.recordType, family, qualifier), codec }]
      : [],
  );
}
