/** Puts that are made of the bytes of rows, as entries of an index are: their description, for who makes them in another thread. */

/** A column, of which a row has at most one version. */
export interface CellColumn {
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/** Some bytes of a key, as the rule that finds their end: constant bytes, a number of them, up to the end mark 00 01, or all others. */
export type KeyForm =
  | { readonly bytes: Uint8Array }
  | { readonly length: number }
  /** `mask`: FF where all bytes are inverted, those of escapes and end marks too. */
  | { readonly escaped: { readonly mask: number } }
  | 'rest';

/** Which bytes of a cell may be copied as they are: text in UTF-8, any, or those of a length from `first` to `last`. */
export type CopiedValue = 'text' | 'any' | { readonly first: Uint8Array; readonly last: Uint8Array };

/** Some bytes of a derived row: constant ones, the source row, or the bytes of a cell; `ended`: with escapes and the end mark. */
export type DerivedPiece =
  | { readonly bytes: Uint8Array }
  | 'row'
  | {
      readonly column: CellColumn;
      readonly value: CopiedValue;
      readonly ended: boolean;
      readonly inverted: boolean;
    };

/** How each row of a scan makes a put. A row that lacks a column of `row` makes none. */
export interface DerivedPuts {
  /** The form of the rows. Others are returned in `others`. */
  readonly source: readonly KeyForm[];
  /** The column of the puts. */
  readonly qualifier: Uint8Array;
  readonly row: readonly DerivedPiece[];
  /** What values begin with. */
  readonly head: Uint8Array;
  /** Values go on with these cells: each with its length + 1 (varint) before it, or 0 where it is absent. */
  readonly cells: readonly CellColumn[];
  /** The most rows of a packet. */
  readonly maxRows: number;
}

/** The most puts of one step, and their bytes at which it is full, too: other work of the thread that writes them waits for it. */
export const STEP_PUTS = 2 ** 11;
export const STEP_BYTES = 2 ** 20;

/** Some puts: the qualifier, then row and value of each. */
export interface PackedPutBytes {
  readonly rowEnds: Int32Array;
  readonly valueEnds: Int32Array;
  readonly bytes: Uint8Array;
}

/** The puts of rows that follow each other. */
export interface PackedDerivedPuts {
  /** Rows that were read, their bytes, and the last of them. */
  readonly rows: number;
  readonly bytes: number;
  readonly last: Uint8Array;
  /** Sorted by row, in the order of all of them; each few enough for one step. */
  readonly puts: readonly PackedPutBytes[];
  /** Rows whose puts cannot be made of their bytes. */
  readonly others: readonly Uint8Array[];
}
