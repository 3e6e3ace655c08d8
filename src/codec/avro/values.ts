/** Values of one schema that stand one behind the other, as in container files. */

import type avsc from 'avsc';
import { CorruptionError } from '../../errors.js';
import { readerType } from './avro-type.js';
import { type BoundsCheck, boundsCheck } from './bounds.js';
import type { AvroSchema } from './schema.js';

/** Values that take no bytes (nulls, empty records) of one block: nothing else bounds them. */
const MAX_EMPTY_VALUES = 65_536;

/** Reads values as {@link AvroCodec} gives them. */
export class AvroValues {
  private readonly type: avsc.Type;
  private readonly bounds: BoundsCheck | undefined;

  /** @throws SchemaError when it is no Avro schema. */
  constructor(schema: AvroSchema) {
    this.type = readerType(schema);
    this.bounds = boundsCheck(this.type);
  }

  /** To be called before the values are read. @throws Error when the bytes are not so many values and nothing else. */
  check(bytes: Uint8Array, values: number): void {
    if (values > bytes.length + MAX_EMPTY_VALUES) {
      throw new CorruptionError(`${bytes.length} bytes cannot be ${values} values`);
    }
    this.bounds?.(bytes, values);
  }

  /** @throws Error when the bytes end within the value. */
  read(bytes: Buffer, at: number): { readonly value: unknown; readonly end: number } {
    const { value, offset } = this.type.decode(bytes, at);
    if (offset < 0 || offset > bytes.length) throw new CorruptionError('a value reaches beyond its block');
    return { value, end: offset };
  }
}
