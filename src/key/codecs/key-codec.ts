/**
 * An order-preserving codec of one key part: byte order is logical order. `T` is what the user gives and gets.
 * Codecs are immutable and have no state.
 */
export interface KeyCodec<T> {
  /** Stands in schema hashes, explain and errors, e.g. "uint32", "string", "desc(date)". Never renamed. */
  readonly name: string;
  /** Bytes of every value, or undefined when they differ in length. */
  readonly fixedLength: number | undefined;
  /** Only in types: makes a codec of one type unassignable to another. */
  readonly $type?: T;
}
