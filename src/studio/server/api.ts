/** What the studio's server and its page say to each other: plain values of JSON. */

/** A value of JSON. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** What is wrong with a request; `code` is one of Rowan's. */
export interface Problem {
  readonly code: string;
  readonly message: string;
}

export interface FamilyInfo {
  readonly name: string;
  readonly compression: string;
  readonly encoding: string;
  readonly bloomFilter: string;
  readonly maxVersions: number;
  /** Seconds; null: for ever. */
  readonly timeToLive: number | null;
  /** Only of stores that count them: bytes on the disk, before encoding and compression, in memory; cells in files, files. */
  readonly counted: {
    readonly fileBytes: number;
    readonly rawBytes: number;
    readonly memstoreBytes: number;
    readonly cells: number;
    readonly files: number;
  } | null;
}

export interface PartInfo {
  readonly name: string;
  readonly codec: string;
  readonly descending: boolean;
  /** False: the key holds a digest of it only. */
  readonly recoverable: boolean;
}

export interface ColumnInfo {
  readonly property: string;
  readonly kind: string;
  readonly family: string;
  /** As HBase prints it. */
  readonly qualifier: string;
  readonly codec: string;
}

export interface IndexInfo {
  readonly name: string;
  readonly unique: boolean;
  readonly eventual: boolean;
  readonly parts: readonly PartInfo[];
  readonly included: readonly string[];
}

export interface EntityInfo {
  readonly name: string;
  readonly table: string;
  readonly recordType: number | null;
  readonly layout: string;
  readonly parts: readonly PartInfo[];
  readonly columns: readonly ColumnInfo[];
  readonly indexes: readonly IndexInfo[];
  readonly summaries: readonly { readonly name: string; readonly by: readonly string[] }[];
  readonly copies: readonly { readonly from: string; readonly properties: readonly string[] }[];
  readonly relations: readonly RelationInfo[];
}

/** Another entity that rows of one lead to, and by which of its properties. */
export interface RelationInfo {
  readonly property: string;
  readonly kind: 'one' | 'many';
  readonly entity: string;
  /** Parts of the other's key, and the properties of this one that hold them. */
  readonly via: readonly (readonly [part: string, property: string])[];
}

export interface TableInfo {
  readonly name: string;
  /** Declared, found only, or kept by Rowan itself. */
  readonly kind: 'declared' | 'other' | 'system';
  readonly families: readonly FamilyInfo[];
  readonly entities: readonly string[];
}

export interface Catalog {
  readonly place: string;
  readonly tables: readonly TableInfo[];
  readonly entities: readonly EntityInfo[];
}

export interface RegionShown {
  /** As HBase prints it; empty: the beginning, or the end. */
  readonly start: string;
  readonly end: string;
  readonly server: string;
  readonly reads: number;
  readonly writes: number;
  readonly files: number;
  readonly fileBytes: number;
  readonly memstoreBytes: number;
}

/** What is asked of an entity: texts as they are typed, which are read by the codecs of parts and columns. */
export interface Question {
  /** By part: a value, or `{ gte, lt, gt, lte, startsWith, endsWith, in }`. */
  readonly key?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly where?: readonly Condition[];
  /** The index to read through, whose parts `key` then has. */
  readonly index?: string;
  readonly reverse?: boolean;
  /** Milliseconds. */
  readonly asOf?: number;
}

export interface Condition {
  readonly property: string;
  readonly operator: string;
  readonly value: string;
}

/** The bytes of one element of a key. */
export interface PieceShown {
  readonly element: string;
  readonly kind: 'salt' | 'bucket' | 'hash' | 'time' | 'type' | 'literal' | 'part';
  /** As HBase prints them. */
  readonly printed: string;
  readonly hex: string;
  /** A sentence. */
  readonly about: string;
}

/** What a question means: the bytes, the ranges, the plan. */
export interface Planned {
  /** The bytes of what is known, element by element; null where they cannot be told. */
  readonly pieces: readonly PieceShown[] | null;
  /** By part: why it cannot be asked now. */
  readonly refused: Readonly<Record<string, string>>;
  readonly explanation: Json | null;
  readonly text: string;
  /** The query in TypeScript. */
  readonly code: string;
  readonly problem: Problem | null;
}

export interface ValueShown {
  readonly value: Json;
  readonly type: 'text' | 'number' | 'boolean' | 'time' | 'bytes' | 'json' | 'null';
  /** Bytes in the cell; of parts of the key 0. */
  readonly bytes: number;
  /** Milliseconds; 0 of parts of the key. */
  readonly time: number;
  /** Only the beginning is shown. */
  readonly cut?: true;
}

export interface CellShown {
  readonly family: string;
  readonly qualifier: string;
  readonly time: number;
  /** Put, or what sort of tombstone it is. */
  readonly type: string;
  /** As HBase prints it. */
  readonly value: string;
  readonly bytes: number;
  readonly cut?: true;
  /** The property that it is the value of. */
  readonly property?: string;
  /** As the property's codec reads it. */
  readonly decoded?: ValueShown;
  /** Milliseconds from its time on, where the engine says it. */
  readonly timeToLive?: number;
  /** Why its codec refuses it. */
  readonly problem?: string;
}

export interface RowShown {
  /** The row in hex. */
  readonly row: string;
  /** As HBase prints it. */
  readonly printed: string;
  /** Null: no declared key has these bytes. */
  readonly entity: string | null;
  readonly values: Readonly<Record<string, ValueShown>>;
  /** Why the row, or a part of it, cannot be decoded. */
  readonly problem?: string;
  readonly cells?: readonly CellShown[];
}

export interface RowPage {
  readonly rows: readonly RowShown[];
  /** Goes on behind them; null at the end. */
  readonly cursor: string | null;
  /** Milliseconds. */
  readonly took: number;
}

export interface RowDetail {
  readonly row: RowShown;
  readonly pieces: readonly PieceShown[] | null;
  /** Every version and tombstone, newest first in each column. */
  readonly cells: readonly CellShown[];
  readonly code: string;
}

export interface SchemaReport {
  readonly plan: string;
  readonly steps: number;
  readonly findings: readonly { readonly severity: string; readonly code: string; readonly text: string }[];
  readonly script: string;
}
