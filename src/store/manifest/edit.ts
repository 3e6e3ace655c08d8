import { CorruptionError, RowanError } from '../../errors.js';
import { type NamespaceProperties, type TableDescriptor, tableDescriptor } from '../../table/index.js';

/** A sorted file of one store. After a split, two stores may share a file. */
export interface FileEntry {
  readonly number: number;
  /** Bytes on the disk. */
  readonly size: number;
  /** The crc of its footer, if known. */
  readonly footerCrc?: number | undefined;
  /** The sequence number of all cells of a bulk-loaded file; undefined for other files. */
  readonly bulkSeq?: number | undefined;
  readonly cells: number;
  readonly deletes: number;
  /** The first and the last row. */
  readonly firstKey: Uint8Array;
  readonly lastKey: Uint8Array;
  readonly minTimestamp: number;
  readonly maxTimestamp: number;
  readonly minSeq: number;
  readonly maxSeq: number;
}

/** Delete markers that flushes and compactions have dropped. */
export interface DroppedMarkers {
  /** The sequence number of the one that was written last. */
  readonly commit: number;
  /** The newest timestamp of any. */
  readonly until: number;
}

/** What incremental copies of a table must know of its past. */
export interface TableHistory {
  /** Another text after each flush or compaction that dropped what a copy of before may show again (`DropWatch`); undefined: none did. */
  readonly lastLoss?: string | undefined;
  /** Undefined: none was dropped of which copies must know. */
  readonly droppedMarkers?: DroppedMarkers | undefined;
  /** No file has a marker of single versions with a greater sequence number; 0: none was ever in a file. */
  readonly versionDeletes: number;
}

/** The history of a table without drops. */
export const NO_HISTORY: TableHistory = Object.freeze({ versionDeletes: 0 });

/** The history of a table that also has the later one. */
export function mergedHistory(before: TableHistory, later: TableHistory): TableHistory {
  const [dropped, also] = [before.droppedMarkers, later.droppedMarkers];
  return {
    lastLoss: later.lastLoss ?? before.lastLoss,
    droppedMarkers:
      dropped && also
        ? {
            commit: Math.max(dropped.commit, also.commit),
            until: Math.max(dropped.until, also.until),
          }
        : (also ?? dropped),
    versionDeletes: Math.max(before.versionDeletes, later.versionDeletes),
  };
}

/** A change to the tables, regions and files of a store. Edits that are logged together take effect together. */
export type Edit =
  | { readonly type: 'namespaceAdd'; readonly name: string }
  | { readonly type: 'namespaceRemove'; readonly name: string }
  /** Replaces all properties. */
  | {
      readonly type: 'namespaceAlter';
      readonly name: string;
      readonly properties: NamespaceProperties;
    }
  | {
      readonly type: 'tableAdd';
      readonly id: number;
      readonly descriptor: TableDescriptor;
      /** The number of each family. A family that is dropped and created again gets another. */
      readonly familyNumbers: ReadonlyMap<string, number>;
      readonly enabled: boolean;
      readonly history?: TableHistory | undefined;
    }
  /** Omitted fields stay as they are. The stores of families that are no longer listed are removed, with their files. */
  | {
      readonly type: 'tableAlter';
      readonly id: number;
      readonly descriptor?: TableDescriptor | undefined;
      readonly familyNumbers?: ReadonlyMap<string, number> | undefined;
      readonly enabled?: boolean | undefined;
      /** Is added to the history. */
      readonly history?: TableHistory | undefined;
    }
  /** Removes the table with its regions and their files. */
  | { readonly type: 'tableDrop'; readonly id: number }
  | {
      readonly type: 'regionAdd';
      readonly id: number;
      readonly table: number;
      /** Inclusive; empty: from the first row. */
      readonly startKey: Uint8Array;
      /** Exclusive; empty: to the last row. */
      readonly endKey: Uint8Array;
    }
  /** Removes the region with the files that no other region has. */
  | { readonly type: 'regionRemove'; readonly id: number }
  | { readonly type: 'fileAdd'; readonly region: number; readonly family: number; readonly file: FileEntry }
  | { readonly type: 'fileRemove'; readonly region: number; readonly family: number; readonly number: number }
  /** Every write up to `seq` of this store is in its files: recovery skips them. */
  | { readonly type: 'flushed'; readonly region: number; readonly family: number; readonly seq: number }
  /** A new WAL segment, which becomes the active one. */
  | { readonly type: 'walAdd'; readonly number: number }
  | {
      readonly type: 'walClosed';
      readonly number: number;
      readonly length: number;
      readonly crc: number;
      readonly firstSeq: number;
      readonly lastSeq: number;
    }
  | { readonly type: 'walRemove'; readonly number: number }
  /** Counters only grow; omitted ones stay as they are. */
  | {
      readonly type: 'counters';
      /** The number that the next file gets. */
      readonly nextFile?: number | undefined;
      /** The number that the next table, family or region gets. */
      readonly nextId?: number | undefined;
      /** No write in a file or segment has a greater sequence number. */
      readonly lastSeq?: number | undefined;
      /** The sequence number of the last bulk load that was recorded. */
      readonly lastLoad?: number | undefined;
      /** The greatest timestamp that the store has assigned; after the next opening it assigns no lower one. */
      readonly clock?: number | undefined;
    };

// — Edits as JSON: `{"edits":[…]}`, byte strings in base64, maps as objects.

type Json = Readonly<Record<string, unknown>>;

/** The bytes of one MANIFEST record. */
export function encodeEdits(edits: readonly Edit[]): Uint8Array {
  return Buffer.from(JSON.stringify({ edits: edits.map(toJson) }));
}

/**
 * Decodes the edits of one MANIFEST record.
 * @throws CorruptionError when the record is invalid; RowanError `ERR_FORMAT_VERSION` for an unknown type of edit.
 */
export function decodeEdits(bytes: Uint8Array, file: string, offset: number): Edit[] {
  try {
    const record = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()) as Json;
    return (record['edits'] as readonly Json[]).map(fromJson);
  } catch (error) {
    if (error instanceof RowanError && error.code === 'ERR_FORMAT_VERSION') throw error;
    throw new CorruptionError(
      `The MANIFEST "${file}" has a record at byte ${offset} that is not a list of edits: ${(error as Error).message} ` +
        'Restore the store from a copy.',
      { cause: error, details: { file, offset } },
    );
  }
}

function toJson(edit: Edit): Json {
  switch (edit.type) {
    case 'tableAdd':
      return { ...edit, familyNumbers: Object.fromEntries(edit.familyNumbers) };
    case 'tableAlter':
      return {
        ...edit,
        familyNumbers: edit.familyNumbers === undefined ? undefined : Object.fromEntries(edit.familyNumbers),
      };
    case 'regionAdd':
      return { ...edit, startKey: base64(edit.startKey), endKey: base64(edit.endKey) };
    case 'fileAdd': {
      const { file } = edit;
      return { ...edit, file: { ...file, firstKey: base64(file.firstKey), lastKey: base64(file.lastKey) } };
    }
    default:
      return { ...edit };
  }
}

function fromJson(json: Json): Edit {
  const type = text(json, 'type');
  switch (type) {
    case 'namespaceAdd':
    case 'namespaceRemove':
      return { type, name: text(json, 'name') };
    case 'namespaceAlter':
      return { type, name: text(json, 'name'), properties: texts(json['properties']) };
    case 'tableAdd':
      return {
        type,
        id: natural(json, 'id'),
        descriptor: descriptor(json['descriptor']),
        familyNumbers: numbers(json['familyNumbers']),
        enabled: json['enabled'] === true,
        ...historyOf(json),
      };
    case 'tableAlter':
      return {
        type,
        id: natural(json, 'id'),
        descriptor: json['descriptor'] === undefined ? undefined : descriptor(json['descriptor']),
        familyNumbers: json['familyNumbers'] === undefined ? undefined : numbers(json['familyNumbers']),
        enabled: json['enabled'] === undefined ? undefined : json['enabled'] === true,
        ...historyOf(json),
      };
    case 'tableDrop':
    case 'regionRemove':
      return { type, id: natural(json, 'id') };
    case 'regionAdd':
      return {
        type,
        id: natural(json, 'id'),
        table: natural(json, 'table'),
        startKey: bytes(json, 'startKey'),
        endKey: bytes(json, 'endKey'),
      };
    case 'walAdd':
    case 'walRemove':
      return { type, number: natural(json, 'number') };
    case 'walClosed':
      return {
        type,
        number: natural(json, 'number'),
        length: natural(json, 'length'),
        crc: natural(json, 'crc'),
        firstSeq: integer(json, 'firstSeq'),
        lastSeq: integer(json, 'lastSeq'),
      };
    case 'counters':
      return {
        type,
        nextFile: optional(json, 'nextFile'),
        nextId: optional(json, 'nextId'),
        lastSeq: optional(json, 'lastSeq'),
        lastLoad: optional(json, 'lastLoad'),
        clock: optional(json, 'clock'),
      };
    default:
      return storeEdit(type, json);
  }
}

function storeEdit(type: string, json: Json): Edit {
  if (type !== 'fileAdd' && type !== 'fileRemove' && type !== 'flushed') {
    throw new RowanError(
      'ERR_FORMAT_VERSION',
      `The MANIFEST has an edit "${type}" that this release of Rowan does not know. Open the store with the ` +
        'release that wrote it, or a newer one.',
    );
  }
  const store = { region: natural(json, 'region'), family: natural(json, 'family') };
  if (type === 'flushed') return { type, ...store, seq: natural(json, 'seq') };
  if (type === 'fileRemove') return { type, ...store, number: natural(json, 'number') };
  return { type, ...store, file: fileEntry(json['file'] as Json) };
}

function fileEntry(json: Json): FileEntry {
  const footerCrc = optional(json, 'footerCrc');
  const bulkSeq = optional(json, 'bulkSeq');
  return {
    number: natural(json, 'number'),
    size: natural(json, 'size'),
    ...(footerCrc === undefined ? {} : { footerCrc }),
    ...(bulkSeq === undefined ? {} : { bulkSeq }),
    cells: natural(json, 'cells'),
    deletes: natural(json, 'deletes'),
    firstKey: bytes(json, 'firstKey'),
    lastKey: bytes(json, 'lastKey'),
    minTimestamp: integer(json, 'minTimestamp'),
    maxTimestamp: integer(json, 'maxTimestamp'),
    minSeq: natural(json, 'minSeq'),
    maxSeq: natural(json, 'maxSeq'),
  };
}

function historyOf({ history }: Json): { readonly history?: TableHistory } {
  if (history === undefined) return {};
  const json = history as Json;
  const lastLoss = json['lastLoss'] === undefined ? {} : { lastLoss: text(json, 'lastLoss') };
  return {
    history: { ...lastLoss, ...droppedMarkersOf(json), versionDeletes: natural(json, 'versionDeletes') },
  };
}

function droppedMarkersOf({ droppedMarkers }: Json): { readonly droppedMarkers?: DroppedMarkers } {
  if (droppedMarkers === undefined) return {};
  const json = droppedMarkers as Json;
  return { droppedMarkers: { commit: natural(json, 'commit'), until: integer(json, 'until') } };
}

function descriptor(json: unknown): TableDescriptor {
  const { name, families, ...options } = json as TableDescriptor;
  return tableDescriptor(name, families, options);
}

function numbers(json: unknown): Map<string, number> {
  const entries = Object.keys(json as object);
  return new Map(entries.map((name) => [name, natural(json as Json, name)]));
}

function texts(json: unknown): Record<string, string> {
  const names = Object.keys(json as object);
  return Object.fromEntries(names.map((name) => [name, text(json as Json, name)]));
}

function text(json: Json, field: string): string {
  const value = json[field];
  if (typeof value !== 'string') throw new TypeError(`"${field}" is not a string.`);
  return value;
}

function integer(json: Json, field: string): number {
  const value = json[field];
  if (!Number.isSafeInteger(value)) throw new TypeError(`"${field}" is not an integer.`);
  return value as number;
}

function natural(json: Json, field: string): number {
  const value = integer(json, field);
  if (value < 0) throw new TypeError(`"${field}" is negative.`);
  return value;
}

function optional(json: Json, field: string): number | undefined {
  return json[field] === undefined ? undefined : natural(json, field);
}

function bytes(json: Json, field: string): Uint8Array {
  return new Uint8Array(Buffer.from(text(json, field), 'base64'));
}

function base64(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64');
}
