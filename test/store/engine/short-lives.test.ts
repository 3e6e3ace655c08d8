/** What a store looks like after many short lives of a program: its files are merged, whoever made them, and closing it costs few syncs. */

import { describe, expect, it } from 'vitest';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import { Cell, CellType, Get, Put, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';

const LIVES = scaled(30, 300, 300);
/** Bytes that a life writes: as many to the least size of a selection as 2 MB are to 16. */
const VALUE = new Uint8Array(2048);
const OPTIONS: EmbeddedOptions = {
  background: 'inline',
  flushOnClose: { minBytes: 0 },
  compaction: { minSize: 16 * 1024 },
};
const QUALIFIER = Buffer.from('q');

const row = (life: number): Buffer => Buffer.from(`row ${String(life).padStart(6, '0')}`);

const WAYS: Record<string, (engine: EmbeddedEngine, life: number) => Promise<void>> = {
  'flushed at close': (engine, life) =>
    engine.table('t').put(new Put(row(life)).addColumn('d', QUALIFIER, VALUE)),
  'flushed by hand': async (engine, life) => {
    await engine.table('t').put(new Put(row(life)).addColumn('d', QUALIFIER, VALUE));
    await engine.admin.flush('t');
  },
  'loaded in bulk': async (engine, life) => {
    await engine.bulkLoad('t', [new Cell(row(life), 'd', QUALIFIER, 1, CellType.Put, VALUE)]);
  },
};

describe.each(Object.keys(WAYS))('%s', (way) => {
  it(`leaves at most ten files a family after ${LIVES} lives`, async () => {
    const fileSystem = new MemoryFileSystem();
    let most = 0;
    for (let life = 0; life < LIVES; life++) {
      const engine = await openEmbedded('/db', { ...OPTIONS, fileSystem });
      if (life === 0) await engine.admin.createTable(tableDescriptor('t', { d: {} }));
      await WAYS[way]!(engine, life);
      await engine.close();
    }
    const engine = await openEmbedded('/db', { ...OPTIONS, fileSystem });
    await engine.quiet();
    for (const { regions } of engine.stats().tables)
      for (const { families } of regions) for (const { files } of families) most = Math.max(most, files);
    expect(most).toBeLessThanOrEqual(10);
    for (let life = 0; life < LIVES; life++)
      expect((await engine.table('t').get(new Get(row(life)))).isEmpty).toBe(false);
    await engine.close();
  });
});

it('records the flushes of a close together', async () => {
  let syncs = 0;
  const fileSystem = new MemoryFileSystem({
    onOperation: ({ call, path }) => {
      if (call === 'syncDirectory' || (call === 'sync' && path.includes('MANIFEST'))) syncs++;
    },
    syncDelay: () => new Promise((resolve) => setImmediate(resolve)),
  });
  const engine = await openEmbedded('/db', { ...OPTIONS, fileSystem });
  const names = Array.from({ length: 64 }, (_, i) => `t${i}`);
  for (const name of names) {
    await engine.admin.createTable(tableDescriptor(name, { d: {} }));
    await engine.table(name).put(new Put(row(1)).addColumn('d', QUALIFIER, VALUE));
  }
  syncs = 0;
  await engine.close();
  expect(syncs).toBeLessThan(names.length);
  const again = await openEmbedded('/db', { ...OPTIONS, fileSystem });
  for (const { regions } of again.stats().tables)
    for (const { families } of regions) expect(families[0]).toMatchObject({ files: 1, memstoreBytes: 0 });
  for (const name of names) expect((await again.table(name).get(new Get(row(1)))).isEmpty).toBe(false);
  await again.close();
});

it('writes little anew of a table that is much larger than what its lives add', async () => {
  const fileSystem = new MemoryFileSystem();
  let written = 0;
  const options: EmbeddedOptions = {
    background: 'inline',
    fileSystem,
    onEvent: (event) => {
      if (event.kind === 'compactionEnd') written += event.bytesWritten;
    },
  };
  const large = 4 << 20;
  for (let life = 0; life < 30; life++) {
    const engine = await openEmbedded('/db', options);
    const value = life === 0 ? new Uint8Array(large) : VALUE;
    if (life === 0) await engine.admin.createTable(tableDescriptor('t', { d: {} }));
    await engine.table('t').put(new Put(row(life)).addColumn('d', QUALIFIER, value));
    await engine.close();
  }
  expect(written).toBeGreaterThan(0);
  expect(written).toBeLessThan(large);
});

it('splits a region that a bulk load has made too large', async () => {
  const fileSystem = new MemoryFileSystem();
  const engine = await openEmbedded('/db', { ...OPTIONS, fileSystem, maxFileSize: 64 * 1024 });
  await engine.admin.createTable(tableDescriptor('t', { d: {} }));
  await engine.bulkLoad(
    't',
    Array.from({ length: 100 }, (_, i) => new Cell(row(i), 'd', QUALIFIER, 1, CellType.Put, VALUE)),
  );
  await engine.quiet();
  expect((await engine.admin.getRegions('t')).length).toBeGreaterThan(1);
  await engine.close();
});
