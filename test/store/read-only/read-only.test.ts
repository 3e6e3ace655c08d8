/** A store that is read beside the one that writes it. */

import { cpSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { RowanError } from '../../../src/errors.js';
import type { EmbeddedAdmin } from '../../../src/store/embedded-admin.js';
import { coreOf, openEmbedded } from '../../../src/store/engine.js';
import { type FileHandle, NodeFileSystem } from '../../../src/store/fs/index.js';
import { LoadedCells } from '../../../src/store/memstore/loaded-cells.js';
import { openReadOnly, type ReadOnlyOptions } from '../../../src/store/read-only/read-only-store.js';
import {
  Append,
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  RowMutations,
  Scan,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/index.js';
import { seededRandom } from '../../crash/seeded-random.js';
import { scaled } from '../../proof/scale.js';
import { contents, createTable, put, readValue, turnsFromNow, withFolder } from '../engine/support.js';
import { change, everything } from './random-store.js';

const OPTIONS = { background: 'inline', automatic: false } as const;

/** Options of a reader that reads so many bytes of the log in a turn, in place of a MiB: an eighth of what memstores may take. */
const reading = (turnBytes: number): ReadOnlyOptions => ({ memstoreLimit: 8 * turnBytes }) as ReadOnlyOptions;

/** Names, lengths, times and bytes of the files of a store, but for the place where readers come. */
function imageOf(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.endsWith('.sock'))
    .map((name) => {
      const { size, mtimeMs, ino } = statSync(join(folder, name));
      return `${name} ${size} ${mtimeMs} ${ino} ${readFileSync(join(folder, name)).toString('base64')}`;
    });
}

test.each(Array.from({ length: scaled(2, 20, 400) }, (_, seed) => seed))(
  'after each look a follower shows exactly what the writer has (seed %d)',
  (seed) =>
    withFolder(async (folder) => {
      const random = seededRandom(7000 + seed);
      const options = { ...OPTIONS, walSegmentSize: 6000, walPreparedSize: 2048, maxWalSegments: 1000 };
      let writer = await openEmbedded(folder, options);
      let step = 0;
      // There is a write that no log has: it is seen when it is flushed.
      let lazy = false;
      // Half of the seeds read the log in many turns.
      const reader = await openReadOnly(folder, seed % 2 === 0 ? {} : reading(512));
      for (; step < scaled(60, 110, 110); step++) {
        lazy = (await change(writer, random, step)) || lazy;
        if (random() < 0.04) {
          await writer.close();
          lazy = false;
          if (random() < 0.5) {
            const alone = await reader.refresh();
            expect(alone.opener).toBeUndefined();
          }
          writer = await openEmbedded(folder, options);
        }
        if (random() < 0.6) continue;
        const { opener } = await reader.refresh();
        expect(opener).toBe(process.pid);
        if (!lazy) expect(await everything(reader)).toEqual(await everything(writer));
        if (!lazy && random() < 0.5) continue;
        lazy = false;
        for (const { name } of await writer.admin.listTables())
          if (await writer.admin.isTableEnabled(name)) await writer.admin.flush(name);
        await reader.refresh();
        expect(await everything(reader, true)).toEqual(await everything(writer, true));
      }
      if (lazy) {
        for (const { name } of await writer.admin.listTables())
          if (await writer.admin.isTableEnabled(name)) await writer.admin.flush(name);
      }
      const last = await everything(writer);
      await writer.close();
      await reader.refresh();
      expect(await everything(reader)).toEqual(last);
      await reader.verify();
      await reader.close();
    }),
);

/** A disk whose log is not safe before it is told to be. */
class HeldDisk extends NodeFileSystem {
  private waiting: (() => void)[] | undefined;

  override hold(): this {
    return this;
  }

  override create(path: string): FileHandle {
    const file = super.create(path);
    if (!path.endsWith('.wal')) return file;
    const sync = file.syncAsync.bind(file);
    file.syncAsync = async () => {
      if (this.waiting !== undefined) await new Promise<void>((resolve) => this.waiting!.push(resolve));
      await sync();
    };
    return file;
  }

  holdSyncs(): void {
    this.waiting = [];
  }

  letSyncs(): void {
    const { waiting = [] } = this;
    this.waiting = undefined;
    for (const go of waiting) go();
  }
}

test('a write is not seen before it is acknowledged, and by every look that begins behind that', () =>
  withFolder(async (folder) => {
    const disk = new HeldDisk();
    await using writer = await openEmbedded(folder, { ...OPTIONS, fileSystem: disk });
    const table = await createTable(writer);
    await table.put(put('a', '1'));
    await using reader = await openReadOnly(folder);
    disk.holdSyncs();
    const written = table.put(put('b', '2'));
    const lazy = table.put(put('c', '3').setDurability('ASYNC_WAL'));
    // It is with the operating system: whoever reads the file sees its bytes.
    while (!readFileSync(join(folder, logOf(folder))).includes('b'))
      await new Promise((r) => setImmediate(r));
    await reader.refresh();
    expect(await contents(reader.table('t'))).toEqual(['a f:q=1']);
    disk.letSyncs();
    await written;
    await lazy;
    await reader.refresh();
    expect(await contents(reader.table('t'))).toEqual(['a f:q=1', 'b f:q=2', 'c f:q=3']);
  }));

function logOf(folder: string): string {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.wal'))
    .at(-1)!;
}

test('each look shows what is new also where no writer can be asked, as on a disk in memory', async () => {
  const fileSystem = new MemoryFileSystem();
  const settings = { ...OPTIONS, fileSystem, walSegmentSize: 6000, walPreparedSize: 2048 };
  const writer = await openEmbedded('/memory', settings);
  const table = await createTable(writer);
  const reader = await openReadOnly('/memory', { fileSystem });
  for (let i = 0; i < 150; i++) {
    await table.put(put(`row ${i}`, 'x'.repeat(20)));
    await reader.refresh();
    expect(await everything(reader), `${i}`).toEqual(await everything(writer));
  }
  await reader.close();
  await writer.close();
});

test('a scan that is open reads its moment to the end, and its files stay until it is closed', () =>
  withFolder(async (folder) => {
    await using writer = await openEmbedded(folder, OPTIONS);
    const table = await createTable(writer);
    const rows = Array.from({ length: scaled(200, 600, 600) }, (_, i) => `r${1000 + i}`);
    for (const row of rows) await table.put(put(row, 'old'));
    await writer.admin.flush('t');
    const files = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.sst'));
    const before = files();
    await using reader = await openReadOnly(folder);
    const scan = reader.table('t').scan(new Scan());
    const first = await scan.nextBatch(10);
    for (const row of rows) await table.put(put(row, 'new'));
    await writer.admin.flush('t');
    await writer.admin.majorCompact('t');
    await reader.refresh();
    expect(files()).toEqual(expect.arrayContaining(before));
    expect(coreOf(writer).readers.counts()).toEqual({ readers: 1, files: 2 });
    const rest: (typeof first)[number][] = [];
    for (let batch = await scan.nextBatch(100); batch.length > 0; batch = await scan.nextBatch(100))
      rest.push(...batch);
    const values = [...first, ...rest].map(({ cells }) => Buffer.from(cells[0]!.value).toString());
    expect(values).toEqual(rows.map(() => 'old'));
    await scan.close();
    await reader.refresh();
    expect(await readValue(reader.table('t'), 'r1000')).toBe('new');
    await reader.refresh();
    expect(files().filter((name) => before.includes(name))).toEqual([]);
    expect(coreOf(writer).readers.counts()).toEqual({ readers: 1, files: 1 });
  }));

test('no byte of the store is changed, with a writer and without one', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'db');
    const writer = await openEmbedded(path, OPTIONS);
    const table = await createTable(writer);
    for (let i = 0; i < 20; i++) await table.put(put(`r${i}`, 'v'));
    await writer.admin.flush('t');
    await table.put(put('last', 'v'));
    // The mark that vouches for the last write comes when the log falls idle.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const look = async (): Promise<void> => {
      const before = imageOf(path);
      await using reader = await openReadOnly(path);
      await reader.refresh();
      await reader.verify();
      expect(reader.stats().tables).toHaveLength(1);
      expect((await contents(reader.table('t'))).length).toBe(21);
      await reader.close();
      expect(imageOf(path)).toEqual(before);
    };
    await look();
    await writer.close();
    const names = readdirSync(path);
    await look();
    expect(readdirSync(path)).toEqual(names);
    expect(names).not.toContain('READERS.sock');
  }));

test('every write is refused by name, and a closed store says that it is closed', () =>
  withFolder(async (folder) => {
    await using writer = await openEmbedded(folder, OPTIONS);
    await createTable(writer);
    const reader = await openReadOnly(folder);
    const table = reader.table('t');
    const { admin } = reader;
    const one = put('r', 'v');
    const descriptor = tableDescriptor('x', { f: {} });
    const writes: readonly (() => Promise<unknown>)[] = [
      () => table.put(one),
      () => table.putAll([one]),
      () => table.delete(new Delete('r')),
      () => table.increment(new Increment('r').addColumn('f', 'n', 1n)),
      () => table.append(new Append('r').addColumn('f', 'n', 'x')),
      () => table.mutateRow(new RowMutations('r').add(one)),
      () => table.checkAndMutate(CheckAndMutate.ifNotExists('f', Buffer.from('q'), one)),
      () => table.batch([new Get('r'), one]),
      () => table.batch([one], { atomic: true }),
      () => table.commit!(() => []),
      () => table.atomic!(() => 1),
      () => reader.transaction(async () => 1),
      () => reader.bulkLoad(),
      () => admin.createNamespace('n'),
      () => admin.modifyNamespace('n', {}),
      () => admin.deleteNamespace('n'),
      () => admin.createTable(descriptor),
      () => admin.deleteTable('t'),
      () => admin.truncateTable('t'),
      () => admin.modifyTable(descriptor),
      () => admin.enableTable('t'),
      () => admin.disableTable('t'),
      () => admin.flush('t'),
      () => admin.compact('t'),
      () => admin.majorCompact('t'),
      () => admin.split('t'),
      () => (admin as EmbeddedAdmin).mergeRegions(['a', 'b']),
    ];
    const codeOf = (error: unknown): string => (error as RowanError).code;
    for (const write of writes) expect(await write().catch(codeOf)).toBe('ERR_READONLY');
    await expect(table.put(one)).rejects.toThrow(/A put of table "t" is a write, .* opened with readOnly/);
    await reader.close();
    for (const write of writes) expect(await write().catch(codeOf)).toBe('ERR_CLOSED');
    expect(await reader.refresh().catch(codeOf)).toBe('ERR_CLOSED');
    expect(await table.get(new Get('r')).catch(codeOf)).toBe('ERR_CLOSED');
  }));

test('a folder without a store is refused, and nothing is made in it', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'db');
    await expect(openReadOnly(path)).rejects.toMatchObject({ code: 'ERR_NOT_A_STORE' });
    expect(readdirSync(folder)).toEqual([]);
  }));

test('an opener that receives no readers is told of', async () => {
  if (process.platform !== 'linux') return;
  await withFolder(async (folder) => {
    class Deaf extends NodeFileSystem {
      override hold(): this {
        return this;
      }
      override async receive(): Promise<undefined> {}
    }
    await using writer = await openEmbedded(folder, { ...OPTIONS, fileSystem: new Deaf() });
    await createTable(writer);
    await expect(openReadOnly(folder)).rejects.toMatchObject({ code: 'ERR_BUSY', retryable: true });
  });
});

test('by itself it shows what is new, and tells of looks that failed', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'db');
    const writer = await openEmbedded(path, OPTIONS);
    const table = await createTable(writer);
    const failures: string[] = [];
    const failed = new Promise<void>((resolve) => {
      void openReadOnly(path, {
        refreshEvery: 5,
        onEvent: (event) => {
          if (event.kind === 'backgroundError') failures.push(event.work);
          resolve();
        },
      }).then(async (reader) => {
        await table.put(put('a', '1'));
        while ((await contents(reader.table('t'))).length === 0) await new Promise((r) => setTimeout(r, 5));
        await writer.close();
        rmSync(join(path, 'CURRENT'));
        await failed;
        // What was read before can be read on.
        expect(await contents(reader.table('t'))).toEqual(['a f:q=1']);
        await reader.close();
      });
    });
    await failed;
    expect(failures[0]).toBe('refresh');
  }));

test('lines that are none of a reader end its connection alone', () =>
  withFolder(async (folder) => {
    await using writer = await openEmbedded(folder, OPTIONS);
    const table = await createTable(writer);
    await table.put(put('a', '1'));
    await using reader = await openReadOnly(folder);
    const files = new NodeFileSystem();
    for (const line of [
      'no json\n',
      '{"look":-1}\n',
      '{"look":1,"free":["x"]}\n',
      'null\n',
      `"${'x'.repeat(1 << 21)}`,
    ]) {
      const stream = await files.call(folder);
      if (typeof stream === 'string') throw new Error(stream);
      const ended = new Promise((resolve) => stream.once('close', resolve));
      stream.on('error', () => stream.destroy());
      stream.resume();
      stream.write(line);
      await ended;
    }
    await reader.refresh();
    expect(await contents(reader.table('t'))).toEqual(['a f:q=1']);
  }));

test('a long log is read in turns, beside the writer, after more writes, and without it', () =>
  withFolder(async (folder) => {
    const ROWS = 300;
    const BYTES = 1000;
    const TURN = 8192;
    const writer = await openEmbedded(folder, OPTIONS);
    const table = await createTable(writer);
    const fill = async (prefix: string): Promise<void> => {
      for (let i = 0; i < ROWS; i++) await table.put(put(`${prefix}${i}`, 'v'.repeat(BYTES)));
    };
    // Records end within a turn, so that turns are somewhat longer.
    const turns = (0.9 * ROWS * BYTES) / TURN;
    await fill('a');
    let counted = turnsFromNow();
    const reader = await openReadOnly(folder, reading(TURN));
    expect(counted()).toBeGreaterThan(turns);
    expect(await everything(reader)).toEqual(await everything(writer));
    await fill('b');
    counted = turnsFromNow();
    const looked = reader.refresh();
    // While the rest of the log is read, the moment before it is shown.
    await new Promise((resolve) => setImmediate(resolve));
    expect((await contents(reader.table('t'))).length).toBe(ROWS);
    await looked;
    expect(counted()).toBeGreaterThan(turns);
    expect(await everything(reader)).toEqual(await everything(writer));
    await fill('c');
    counted = turnsFromNow();
    const cutOff = expect(reader.refresh()).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    await reader.close();
    await cutOff;
    // The rest of the log is left.
    expect(counted()).toBeLessThan(turns);
    const last = await everything(writer);
    const copy = `${folder}-copy`;
    cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    await writer.close();
    try {
      counted = turnsFromNow();
      const alone = await openReadOnly(copy, reading(TURN));
      expect(counted()).toBeGreaterThan(3 * turns);
      expect(await everything(alone)).toEqual(last);
      await alone.close();
    } finally {
      rmSync(copy, { recursive: true });
    }
  }));

test('the cells of a long log are sorted as they are read, not all of them in its last turn', () =>
  withFolder(async (folder) => {
    const CELLS = 40_000;
    const sorted = vi.spyOn(LoadedCells.prototype, 'sorted');
    /** The most cells that were sorted at once since the last call. */
    const mostAtOnce = (): number => {
      const counts = sorted.mock.results.map(({ value }) => (value as Uint32Array).length);
      sorted.mockClear();
      return Math.max(...counts);
    };
    const writer = await openEmbedded(folder, { ...OPTIONS, durability: 'ASYNC_WAL' });
    const table = await createTable(writer);
    const fill = async (prefix: string): Promise<void> => {
      for (let i = 0; i < CELLS; i += 1000)
        await table.batch(Array.from({ length: 1000 }, (_, j) => put(`${prefix}${i + j}`, 'v')));
    };
    await fill('a');
    const reader = await openReadOnly(folder, reading(65_536));
    expect(mostAtOnce()).toBeLessThan(0.75 * CELLS);
    await fill('b');
    mostAtOnce();
    await reader.refresh();
    expect(mostAtOnce()).toBeLessThan(0.75 * CELLS);
    await reader.close();
    sorted.mockRestore();
    await writer.close();
  }));
