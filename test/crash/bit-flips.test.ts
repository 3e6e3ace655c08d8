import { describe, expect, it } from 'vitest';
import { toLatin1 } from '../../src/bytes/index.js';
import { CorruptionError } from '../../src/errors.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import {
  BLOOM_FILTERS,
  type Compression,
  DATA_BLOCK_ENCODINGS,
  Delete,
  Get,
  Put,
  tableDescriptor,
} from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { scaled } from '../proof/scale.js';
import { seededRandom } from './seeded-random.js';
import { digestOf, STORE, smallStore } from './workload.js';

const COMPRESSIONS: readonly Compression[] = ['NONE', 'GZ', 'NONE', 'SNAPPY', 'LZ4'];
const ROWS = 24;
/** Of sorted files, every how many bytes one bit is changed. */
const STRIDE = scaled(16, 4, 1);

/** A store with a file of every encoding, some codecs and filters, with two versions of the log, closed or not. */
async function makeStore(closed: boolean): Promise<MemoryFileSystem> {
  const files = new MemoryFileSystem();
  const engine = await openEmbedded(STORE, smallStore(files, { automatic: false }));
  const families = Object.fromEntries(
    DATA_BLOCK_ENCODINGS.map((dataBlockEncoding, index) => [
      `f${index}`,
      {
        dataBlockEncoding,
        compression: COMPRESSIONS[index]!,
        bloomFilter: BLOOM_FILTERS[index % BLOOM_FILTERS.length]!,
        blockSize: 1024,
      },
    ]),
  );
  await engine.admin.createTable(tableDescriptor('t', families));
  const table = engine.table('t');
  const fill = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n++) {
      const put = new Put(`row${n}`);
      for (const family of Object.keys(families)) put.addColumn(family, 'q', `${family} ${n} `.repeat(4));
      await table.put(put);
    }
  };
  await fill(0, ROWS - 6);
  await table.delete(new Delete('row3'));
  await engine.admin.flush('t');
  await fill(ROWS - 6, ROWS);
  if (!closed) return files.crash({ keepUnsynced: 0, random: () => 0 });
  await engine.close();
  return files;
}

/** Scans everything, and gets every row, which goes past the filters. */
async function readAll(engine: EmbeddedEngine): Promise<string> {
  let rows = '';
  for (let n = 0; n < ROWS; n++) {
    const result = await engine.table('t').get(new Get(`row${n}`));
    for (const cell of result.cells) rows += `${n} ${cell.family} ${toLatin1(cell.value)}\n`;
  }
  return `${await digestOf(engine)}\n${rows}`;
}

async function open(files: MemoryFileSystem): Promise<EmbeddedEngine> {
  return openEmbedded(STORE, smallStore(files, { automatic: false }));
}

describe.each([
  ['a store that was closed', true],
  ['a store whose process died', false],
] as const)('one changed bit in any file of %s', (_, closed) => {
  it('is reported as damage, or changes nothing that is read', async () => {
    const store = await makeStore(closed);
    const original = store.crash({ keepUnsynced: 1, random: () => 0 });
    const engine = await open(original);
    const expected = await readAll(engine);
    await engine.close();
    const random = seededRandom(5);
    const quiet: { readonly name: string; readonly at: number }[] = [];
    let flips = 0;
    for (const name of store.readdir(STORE)) {
      const length = store.fileSize(`${STORE}/${name}`);
      // Log and MANIFEST have tests of their own for every bit; here they are only sampled.
      const stride = name.endsWith('.sst') ? STRIDE : 29;
      for (let at = 0; at < length; at += stride) {
        const files = store.crash({ keepUnsynced: 1, random: () => 0 });
        files.contents(`${STORE}/${name}`)[at]! ^= 1 << Math.floor(random() * 8);
        flips++;
        const damaged = await outcome(files, expected);
        if (!damaged) quiet.push({ name, at });
      }
    }
    expect(flips).toBeGreaterThan(300);
    expect(ranges(quiet)).toEqual([]);
  });
});

describe('a sector of a file', () => {
  it('is reported as damage when it is zeros, or that of another file', async () => {
    const store = await makeStore(true);
    const original = store.crash({ keepUnsynced: 1, random: () => 0 });
    const engine = await open(original);
    const expected = await readAll(engine);
    await engine.close();
    const names = store.readdir(STORE).filter((name) => name !== 'LOCK');
    for (const name of names) {
      const path = `${STORE}/${name}`;
      const other = store.contents(
        `${STORE}/${names.find((each) => each !== name && each.endsWith('.sst'))}`,
      );
      for (let at = 0; at < store.fileSize(path); at += 512) {
        for (const source of [new Uint8Array(512), other.slice(0, 512)]) {
          const files = store.crash({ keepUnsynced: 1, random: () => 0 });
          const bytes = files.contents(path);
          bytes.set(source.subarray(0, Math.min(source.length, bytes.length - at)), at);
          if (!(await outcome(files, expected))) throw new Error(`${name} at ${at}`);
        }
      }
    }
  });
});

/** Neighbours in one: `000004.sst 261-326`. */
function ranges(places: readonly { readonly name: string; readonly at: number }[]): string[] {
  const out: { name: string; from: number; to: number }[] = [];
  for (const { name, at } of places) {
    const last = out.at(-1);
    if (last?.name === name && at - last.to < 30) last.to = at;
    else out.push({ name, from: at, to: at });
  }
  return out.map(({ name, from, to }) => `${name} ${from}-${to}`);
}

/** True when the damage was reported. Throws when wrong data was read, or another error than damage. */
async function outcome(files: MemoryFileSystem, expected: string): Promise<boolean> {
  let engine: EmbeddedEngine | undefined;
  try {
    engine = await open(files);
    if ((await readAll(engine)) !== expected) throw new Error('wrong data was read');
    await engine.verify();
    return false;
  } catch (error) {
    if (!(error instanceof CorruptionError)) throw error;
    expect(error.details.file).toMatch(/^\/data\/db\//);
    return true;
  } finally {
    await engine?.close();
  }
}
