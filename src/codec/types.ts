/** What a codec of column values is. */

/** Encodes the values of columns. Stateless and immutable. */
export interface ValueCodec<T> {
  /** Stands in schema hashes, explain and errors, e.g. "text", "int32", "decimal(2)". Never renamed. */
  readonly name: string;
  /** Byte order of encoded values is their logical order: comparisons can be pushed to the engine. */
  readonly ordered: boolean;
  /** @throws RowanError `ERR_CODEC` when the value is of a wrong type or out of range. */
  encode(value: T): Uint8Array;
  /** @throws RowanError `ERR_CODEC` when the bytes are no such value. */
  decode(bytes: Uint8Array): T;
  /** The order of values where bytes are not in it; negative when `a` comes first. Default: that of the values themselves. */
  compare?(a: T, b: T): number;
}
