import type { ColumnSchema, ValueCodec } from '../schema/types.js';

/** One expected column. Of one class, so that the loop over cells stays monomorphic. */
export class ExpectedColumn {
  /** The qualifier object that was last found equal: engines may share one between rows, and then nothing is compared. */
  seen: Uint8Array;

  constructor(
    readonly schema: ColumnSchema,
    readonly slot: number,
    readonly qualifier: Uint8Array,
    readonly codec: ValueCodec<unknown>,
    /** One cell makes the value; otherwise a Map (`columns`) or a history (`versions`) is filled. */
    readonly single: boolean,
    /** The qualifier is what all cells of the property begin with. */
    readonly prefix: boolean,
  ) {
    this.seen = qualifier;
  }
}
