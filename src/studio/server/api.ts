/** The messages between the studio's server and its page: plain values of JSON. */

/** A value of JSON. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** The error of a request; `code` is one of Rowan's. */
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

interface ColumnInfo {
  readonly property: string;
  readonly kind: string;
  readonly family: string;
  /** As HBase prints it. */
  readonly qualifier: string;
  readonly codec: string;
  /** The Avro schema of its values, where its codec has one. */
  readonly avro?: Json;
}

interface IndexInfo {
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
  /** Whether its changes are kept, so that `db.watch` can be asked. */
  readonly changes: boolean;
}

/** Another entity that rows of one lead to, and by which of its properties. */
export interface RelationInfo {
  readonly property: string;
  readonly kind: 'one' | 'many';
  readonly entity: string;
  /** False: not declared, but the other's key begins with the same parts in the same table. */
  readonly declared: boolean;
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
  /** "embedded", "hbase" or "bigtable". */
  readonly engine: string;
  /** Whether the studio was started to write. */
  readonly writable: boolean;
  /** Whether saved queries can be changed, and where they are kept. */
  readonly queriesFile: string | null;
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

/** A question about an entity: texts as they are typed, which are read by the codecs of parts and columns. */
export interface Question {
  /** By part: a value, or `{ gte, lt, gt, lte, startsWith, endsWith, in }`. */
  readonly key?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly where?: readonly Condition[];
  /** The index to read through, whose parts `key` then has. */
  readonly index?: string;
  readonly reverse?: boolean;
  /** Milliseconds. */
  readonly asOf?: number;
  /** Rows at most, from 1 on. */
  readonly limit?: number;
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
  /** The bytes at its end that only end it (a terminator), as HBase prints them; `printed` is without them. */
  readonly end?: string;
  /** A sentence. */
  readonly about: string;
}

/** The meaning of a question: the bytes, the ranges, the plan. */
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
  /** The bytes are a picture that a browser draws. */
  readonly picture?: boolean;
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
  /** Goes on after them; null at the end. */
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

/** The state of one structure that Rowan derives from rows. */
export interface HealthInfo {
  readonly entity: string;
  readonly kind: 'index' | 'summary' | 'copies';
  readonly name: string;
  /** `active`, `building`, `disabled`, or `unknown` where the engine was opened without looking. */
  readonly state: string;
  readonly note: string;
}

/** The load of a table, summed over its regions. */
export interface TableSize {
  readonly table: string;
  readonly regions: number;
  readonly fileBytes: number;
  readonly memstoreBytes: number;
}

/** Counters of a whole engine at one moment. Those that only grow are counted from the start of the store or server. */
export interface Counters {
  /** Milliseconds. */
  readonly time: number;
  readonly writes: number;
  readonly reads: number;
  readonly memstoreBytes: number;
  readonly fileBytes: number;
  /** Only of an embedded store. */
  readonly store: {
    readonly bytesFlushed: number;
    readonly bytesCompacted: number;
    readonly cacheHits: number;
    readonly cacheMisses: number;
    readonly walBytes: number;
    readonly files: number;
  } | null;
}

/** Rows of an entity, counted by what their keys begin with. */
export interface HeatMap {
  /** The salt or bucket of each line; one empty text for keys without. */
  readonly lanes: readonly string[];
  /** Values of the first part that comes after, in their order, several of them together where there are many. */
  readonly groups: readonly string[];
  /** Rows by lane, then by group. */
  readonly rows: readonly (readonly number[])[];
  readonly part: string;
  readonly counted: number;
  /** False: each lane was counted up to a limit only. */
  readonly complete: boolean;
}

/** A change that was committed, as `db.watch` tells it. */
export interface LiveChange {
  readonly entity: string;
  readonly operation: 'insert' | 'update' | 'delete';
  readonly time: number;
  readonly before: Readonly<Record<string, ValueShown>> | null;
  readonly after: Readonly<Record<string, ValueShown>> | null;
}

/** A write as the page asks for it: texts as they are typed. */
export interface WriteAsked {
  readonly entity: string;
  readonly operation: 'insert' | 'update' | 'delete';
  /** Of update and delete: the row in hex. */
  readonly row?: string;
  /** Of insert: parts of the key and properties; of update: properties. Null deletes the value. */
  readonly values?: Readonly<Record<string, string | null>>;
}

export interface MutationShown {
  readonly table: string;
  readonly kind: string;
  /** The row as HBase prints it. */
  readonly row: string;
  readonly cells: readonly { readonly column: string; readonly type: string; readonly value: string }[];
}

/** The effects of a write, without writing. */
export interface WritePlanned {
  readonly mutations: readonly MutationShown[];
  /** False: those of the row itself only; what follows it is named in `effects`. */
  readonly complete: boolean;
  readonly effects: readonly string[];
  /** The text that must be typed to confirm it. */
  readonly confirm: string;
  /** The row as it was seen; the write is refused when it has changed since. */
  readonly seen: string;
  readonly code: string;
}

export interface WriteDone {
  readonly row: string;
  /** Takes the write back while the row is as it left it. Null: it cannot be taken back. */
  readonly undo: string | null;
}

/** A query that was saved under a name. */
export interface SavedQuery {
  readonly name: string;
  readonly entity: string;
  readonly question: Question;
}

/** How far a check or repair of an index has come; the last one has the report. */
export interface IndexProgress {
  readonly phase: string;
  /** 0..1 of the phase. */
  readonly fraction: number;
  readonly rows: number;
  readonly report?: Json;
  readonly problem?: Problem;
}
