import { toStringBinary } from '../bytes/index.js';
import { AvroCodec } from '../codec/index.js';
import type { EntitySchema } from './types.js';

/** A column that holds Avro. */
export interface AvroColumn {
  /** What its schemas are registered under: table, record type and column, which outlive the names of classes. */
  readonly subject: string;
  readonly codec: AvroCodec<unknown>;
}

/** The columns of an entity that hold Avro. */
export function avroColumns(entity: EntitySchema): AvroColumn[] {
  const { recordType } = entity.key;
  const type = recordType === undefined ? '' : `#${recordType}`;
  return entity.columns.flatMap(({ family, qualifier, codec }) =>
    codec instanceof AvroCodec
      ? [{ subject: `${entity.table.descriptor.name}${type}/${family}:${toStringBinary(qualifier)}`, codec }]
      : [],
  );
}
