/**
 * How fast one sorted file is: writing, scanning, point look-ups. `npx tsx test/bench/micro/sorted-file.ts [rows]
 * [encoding] [codec]`. Times are of the processor, per cell or look-up, the
 * best of several rounds.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareCodecs } from '../../../src/compression/index.js';
import { BlockCache, FileHandleCache } from '../../../src/store/cache.js';
import { CellCursor, type SeekKey } from '../../../src/store/cursor.js';
import { BloomKey } from '../../../src/store/file/bloom-filter.js';
import { SortedFileReader } from '../../../src/store/file/sorted-file-reader.js';
import { SortedFileWriter } from '../../../src/store/file/sorted-file-writer.js';
import { NodeFileSystem } from '../../../src/store/fs/index.js';
import type { Compression, DataBlockEncoding } from '../../../src/table/index.js';

const rows = Number(process.argv[2] ?? 1_000_000);
const encoding = (process.argv[3] ?? 'NONE') as DataBlockEncoding;
const compression = (process.argv[4] ?? 'NONE') as Compression;
const ROUNDS = 5;

/** Rows "user" and twelve digits in order, one column, a value of 100 bytes. */
class Source extends CellCursor {
  private number = -1;
  private readonly cell = Buffer.alloc(117 + 100);

  constructor(private readonly count: number) {
    super();
    this.cell.write('user000000000000q', 'latin1');
    for (let i = 17; i < this.cell.length; i++) this.cell[i] = 97 + ((i * 7) % 26);
    this.key = new Uint8Array(this.cell.buffer, this.cell.byteOffset, this.cell.length);
    this.value = this.key;
    this.rowLength = 16;
    this.qualifierOffset = 16;
    this.qualifierLength = 1;
    this.valueOffset = 17;
    this.valueLength = 100;
    this.timestamp = 1_700_000_000_000;
    this.type = 4;
  }

  override seekToFirst(): boolean {
    this.number = -1;
    return this.next();
  }

  override next(): boolean {
    const number = ++this.number;
    this.valid = number < this.count;
    let rest = number;
    for (let i = 15; i > 3 && rest > 0; i--) {
      this.key[i] = 48 + (rest % 10);
      rest = Math.floor(rest / 10);
    }
    if (rest === 0 && number === 0) this.key.fill(48, 4, 16);
    this.key[40] = number & 0xff;
    this.seq = number + 1;
    return this.valid;
  }

  override seek(_target: SeekKey): boolean {
    throw new Error('not needed');
  }

  override reseek(_target: SeekKey): boolean {
    throw new Error('not needed');
  }

  override seekToPreviousRow(_row: Uint8Array | null): boolean {
    throw new Error('not needed');
  }

  override close(): void {}
}

function report(what: string, nanoseconds: number): void {
  console.log(`${what.padEnd(44)} ${(nanoseconds / 1000).toFixed(3)} us`);
}

/** The least processor time of a round, in nanoseconds a step: it does not count what other processes take. */
function best(steps: number, round: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < ROUNDS; i++) {
    const start = process.cpuUsage();
    round();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, ((user + system) * 1000) / steps);
  }
  return least;
}

function scan(reader: SortedFileReader, options: { cacheBlocks?: boolean; transient?: boolean }): void {
  const cursor = reader.cursor(options);
  let sum = 0;
  let cells = 0;
  for (cursor.seekToFirst(); cursor.valid; cursor.next()) {
    sum += cursor.value[cursor.valueOffset]! + cursor.rowLength;
    cells++;
  }
  cursor.close();
  if (cells !== rows || sum === 0) throw new Error(`${cells} cells instead of ${rows}`);
}

function lookUps(reader: SortedFileReader, order: Uint32Array): void {
  const row = new Uint8Array(16).fill(48);
  row.set(Buffer.from('user'));
  const key = new BloomKey();
  let found = 0;
  for (let n = 0; n < order.length; n++) {
    let rest = order[n]!;
    for (let i = 15; i > 3; i--) {
      row[i] = 48 + (rest % 10);
      rest = (rest / 10) | 0;
    }
    key.setRow(row);
    if (!reader.mayContain(key)) continue;
    const cursor = reader.cursor();
    if (cursor.seek(key.target) && cursor.rowLength === 16) found += cursor.value[cursor.valueOffset]! & 1;
    cursor.close();
  }
  if (found < 0) throw new Error('nothing found');
}

await prepareCodecs([compression]);
const folder = mkdtempSync(join(tmpdir(), 'rowan-micro-'));
const fs = new NodeFileSystem();
let number = 0;
const size = { bytes: 0 };
report(
  'write',
  best(rows, () => {
    const writer = new SortedFileWriter(fs.create(join(folder, `${++number}.sst`)), {
      fileNo: number,
      compression,
      dataBlockEncoding: encoding,
      bloomFilter: 'ROW',
      blockSize: 65536,
    });
    const source = new Source(rows);
    for (source.seekToFirst(); source.valid; source.next()) writer.append(source);
    size.bytes = writer.finish().size;
  }),
);
console.log(`${(size.bytes / rows).toFixed(1)} bytes a cell`);
const context = { files: new FileHandleCache(fs, 16), cache: new BlockCache(1 << 29) };
const reader = SortedFileReader.open(context, join(folder, `${number}.sst`), number);
report(
  'scan, not cached, one buffer',
  best(rows, () => scan(reader, { cacheBlocks: false, transient: true })),
);
report(
  'scan, cached',
  best(rows, () => scan(reader, {})),
);
const order = Uint32Array.from({ length: 200_000 }, () => Math.floor(Math.random() * rows));
report(
  'point look-up, random, cached',
  best(order.length, () => lookUps(reader, order)),
);
report(
  'point look-up, in order, cached',
  best(order.length, () => lookUps(reader, order.slice().sort())),
);
const absent = order.map((each) => each + rows);
report(
  'point look-up, absent (key range)',
  best(order.length, () => lookUps(reader, absent)),
);
const bloomKey = new BloomKey();
let passed = 0;
for (let i = 0; i < 100_000; i++)
  if (reader.mayContain(bloomKey.setRow(Buffer.from(`user000000${i}x`)))) passed++;
console.log(`bloom filter: ${(passed / 1000).toFixed(2)} % of absent rows pass`);
console.log(context.cache.stats());
rmSync(folder, { recursive: true });
