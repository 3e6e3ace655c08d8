/** A small store with a bit of everything, and what comes of opening a damaged copy of it. */

import { toLatin1 } from '../../src/bytes/index.js';
import { CorruptionError } from '../../src/errors.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import type { EmbeddedOptions } from '../../src/store/options.js';
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
import { digestOf, STORE, smallStore } from './workload.js';

const COMPRESSIONS: readonly Compression[] = ['NONE', 'GZ', 'NONE', 'SNAPPY', 'LZ4'];
const ROWS = 24;

/** A store with a file of every encoding, some codecs and filters, with two versions of the log, closed or not. */
export async function makeStore(
  closed: boolean,
  options: Partial<EmbeddedOptions> = {},
): Promise<MemoryFileSystem> {
  const files = new MemoryFileSystem();
  const engine = await openEmbedded(STORE, smallStore(files, { automatic: false, ...options }));
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
export async function readAll(engine: EmbeddedEngine): Promise<string> {
  let rows = '';
  for (let n = 0; n < ROWS; n++) {
    const result = await engine.table('t').get(new Get(`row${n}`));
    for (const cell of result.cells) rows += `${n} ${cell.family} ${toLatin1(cell.value)}\n`;
  }
  return `${await digestOf(engine)}\n${rows}`;
}

export async function open(
  files: MemoryFileSystem,
  options: Partial<EmbeddedOptions> = {},
): Promise<EmbeddedEngine> {
  return openEmbedded(STORE, smallStore(files, { automatic: false, ...options }));
}

/** True when the damage was reported. Throws when wrong data was read, or another error than damage. */
export async function outcome(
  files: MemoryFileSystem,
  expected: string,
  options: Partial<EmbeddedOptions> = {},
): Promise<boolean> {
  let engine: EmbeddedEngine | undefined;
  try {
    engine = await open(files, options);
    if ((await readAll(engine)) !== expected) throw new Error('wrong data was read');
    await engine.verify();
    return false;
  } catch (error) {
    if (!(error instanceof CorruptionError)) throw error;
    if (!String(error.details.file).startsWith(`${STORE}/`))
      throw new Error(`It names ${error.details.file}.`);
    return true;
  } finally {
    await engine?.close();
  }
}
