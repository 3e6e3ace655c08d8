/** What `rowan store dump-wal` and `dump-file` print. */

import { join } from 'node:path';
import { toStringBinary } from '../bytes/index.js';
import { prepareCodecs } from '../compression/index.js';
import { BlockCache, CachedFile, FileHandleCache } from '../store/cache/index.js';
import { fileNumberOf } from '../store/file/footer.js';
import { SortedFileReader } from '../store/file/sorted-file-reader.js';
import { NodeFileSystem } from '../store/fs/index.js';
import { readManifest } from '../store/manifest/index.js';
import { readWriteRecord } from '../store/record/write-record.js';
import { replayWal } from '../store/wal/index.js';
import { CellType } from '../table/index.js';

type Print = (line: string) => void;

/**
 * Prints each write of the log, oldest first.
 * @throws CorruptionError naming file and offset where the log is damaged.
 */
export function dumpLog(folder: string, print: Print): void {
  const files = new NodeFileSystem();
  const { state } = readManifest(files, folder);
  const families = new Map<number, string>();
  for (const table of state.tables.values()) {
    for (const [name, number] of table.familyNumbers) families.set(number, name);
  }
  const tableName = (id: number): string => state.tables.get(id)?.descriptor.name ?? `(table ${id}, deleted)`;
  const segments = [...state.walSegments.values()];
  const { records, torn } = replayWal(
    files,
    folder,
    segments,
    (record) => {
      print(
        `segment ${record.segment} offset ${record.fileOffset}: writes ${record.firstSeq}..${record.firstSeq + record.count - 1}`,
      );
      readWriteRecord(record.payload.subarray(record.offset, record.offset + record.length), {
        cell: ({ mutation, table, row, family, qualifier, timestamp, type, ttl, value }) => {
          const column = `${families.get(family) ?? `(family ${family}, deleted)`}:${toStringBinary(qualifier)}`;
          const expiry = ttl === 0 ? '' : ` ttl=${ttl}`;
          print(
            `  ${record.firstSeq + mutation} ${tableName(table)} ${toStringBinary(row)} ${column} ` +
              `timestamp=${timestamp} ${typeName(type)}${expiry} value=${shortened(value)}`,
          );
        },
      });
    },
    { repair: false },
  );
  print(`${records} records in ${segments.length} segments.`);
  if (torn)
    print(`Torn end: ${torn.bytes} bytes from ${torn.offset} of ${torn.file} were never acknowledged.`);
}

/** Prints what is known of a sorted file, and its cells. */
export async function dumpFile(
  folder: string,
  name: string,
  factsOnly: boolean,
  print: Print,
): Promise<void> {
  const files = new FileHandleCache(new NodeFileSystem(), 1);
  const path = join(folder, name);
  const file = new CachedFile(files, path);
  const number = fileNumberOf(file);
  const reader = SortedFileReader.open({ files, cache: new BlockCache(0) }, path, number);
  try {
    for (const [fact, value] of Object.entries(reader.meta)) {
      print(`${fact}: ${value instanceof Uint8Array ? toStringBinary(value) : String(value)}`);
    }
    if (factsOnly) return;
    await prepareCodecs([reader.meta.compression]);
    const cursor = reader.cursor({ cacheBlocks: false });
    for (let more = cursor.seekToFirst(); more; more = cursor.next()) {
      const { key, rowOffset, rowLength, qualifierOffset, qualifierLength } = cursor;
      const row = toStringBinary(key.subarray(rowOffset, rowOffset + rowLength));
      const qualifier = toStringBinary(key.subarray(qualifierOffset, qualifierOffset + qualifierLength));
      const value = cursor.value.subarray(cursor.valueOffset, cursor.valueOffset + cursor.valueLength);
      const expiry = cursor.ttl === 0 ? '' : ` ttl=${cursor.ttl}`;
      print(
        `${row} ${qualifier} timestamp=${cursor.timestamp} ${typeName(cursor.type)} seq=${cursor.seq}${expiry} value=${shortened(value)}`,
      );
    }
    cursor.close();
  } finally {
    reader.close();
    files.closeAll();
  }
}

function typeName(type: number): string {
  return Object.entries(CellType).find(([, code]) => code === type)?.[0] ?? `type ${type}`;
}

/** Enough of a value to know it by. */
function shortened(value: Uint8Array): string {
  const text = toStringBinary(value.subarray(0, 60));
  return value.length > 60 ? `${text}… (${value.length} bytes)` : text;
}
