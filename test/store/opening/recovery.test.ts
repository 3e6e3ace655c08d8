/** What an opening refuses, what it leaves alone while it refuses, and what a repair saves then. */

import { expect, test } from 'vitest';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { StoreEvent } from '../../../src/store/events.js';
import { repairStore } from '../../../src/store/repair/repair.js';
import { repairStoreClock } from '../../../src/store/repair/repair-clock.js';
import { Delete, Get, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';
import { contents, createTable, put } from '../engine/support.js';
import { FaultFileSystem } from '../fs/fault-fs.js';

const OPTIONS = { automatic: false, walSegmentSize: 4000 } as const;
const kill = (files: MemoryFileSystem): MemoryFileSystem => files.crash({ keepUnsynced: 1, random: () => 0 });

/** A store that was killed after 60 writes in several logs, a flush among them, and the number of its MANIFEST. */
async function killed(): Promise<MemoryFileSystem> {
  const files = new MemoryFileSystem();
  const engine = await openEmbedded('/db', { fileSystem: files, ...OPTIONS });
  const table = await createTable(engine);
  for (let i = 0; i < 60; i++) {
    await table.put(put(`r${i}`, 'v'.repeat(200)));
    if (i === 20) await engine.admin.flush('t');
  }
  const disk = kill(files);
  await engine.close();
  return disk;
}

function snapshot(files: MemoryFileSystem): string {
  const names = files.readdir('/db').filter((name) => !name.startsWith('LOCK'));
  return names
    .map((name) => `${name} ${Buffer.from(files.contents(`/db/${name}`)).toString('base64')}`)
    .join('\n');
}

async function rowsOf(files: MemoryFileSystem): Promise<number> {
  const engine = await openEmbedded('/db', { fileSystem: files, ...OPTIONS });
  let rows = 0;
  for (let i = 0; i < 60; i++) if (!(await engine.table('t').get(new Get(`r${i}`))).isEmpty) rows++;
  await engine.close();
  return rows;
}

test('a MANIFEST that lost its end is refused, nothing is changed, and a repair saves the writes', async () => {
  const disk = await killed();
  const [name] = disk.readdir('/db').filter((each) => each.startsWith('MANIFEST'));
  const whole = disk.contents(`/db/${name}`).slice();
  const vouched = Number(/MANIFEST-\d+ (\d+)/.exec(Buffer.from(disk.contents('/db/CURRENT')).toString())![1]);
  let refused = 0;
  const saved: unknown[] = [];
  for (let length = vouched; length < whole.length; length += scaled(101, 7, 1)) {
    const damaged = kill(disk);
    damaged.place(`/db/${name}`, whole.slice(0, length));
    const before = snapshot(damaged);
    const outcome = await rowsOf(damaged).catch((error) => error);
    if (typeof outcome === 'number') {
      expect(outcome, `cut at ${length}`).toBe(60);
      continue;
    }
    refused++;
    expect(outcome).toMatchObject({ code: 'ERR_CORRUPTION', details: { file: expect.any(String) } });
    expect(outcome.details.offset).toEqual(expect.any(Number));
    expect(snapshot(damaged)).toBe(before);
    const report = await repairStore('/db', damaged);
    expect(report.setAside.length + report.lost.length).toBeGreaterThan(0);
    // What cannot be had again (the table itself is lost, or the log of what was flushed) is listed.
    const rows = await rowsOf(damaged).catch((error) => error.code);
    if (rows !== 60) expect(report.lost.length, `${rows} rows, cut at ${length}`).toBeGreaterThan(0);
    saved.push(rows);
  }
  expect(refused).toBeGreaterThan(scaled(2, 10, 10));
  expect(saved).toContain(60);
});

test('a damaged log refuses the store before anything is changed, and a repair saves what stands before', async () => {
  const disk = await killed();
  const logs = disk.readdir('/db').filter((name) => name.endsWith('.wal'));
  for (const log of logs.slice(0, -1)) {
    const damaged = kill(disk);
    const bytes = damaged.contents(`/db/${log}`);
    bytes[Math.floor(bytes.length / 2)]! ^= 1;
    const before = snapshot(damaged);
    await expect(rowsOf(damaged)).rejects.toMatchObject({
      code: 'ERR_CORRUPTION',
      message: expect.stringContaining('Nothing was changed'),
    });
    expect(snapshot(damaged)).toBe(before);
    const { lost, savedRecords, folder } = await repairStore('/db', damaged);
    expect(lost.length).toBe(1);
    expect(savedRecords).toBeGreaterThan(0);
    // The kill may have come while a next log was made, which no edit names yet. A write has more bytes than that.
    const aside = damaged.readdir(folder!);
    expect(aside.filter((name) => damaged.contents(`${folder}/${name}`).length > 200)).toEqual([log]);
    expect(aside.length).toBeLessThanOrEqual(2);
    const rows = await rowsOf(damaged);
    expect(rows).toBeGreaterThan(30);
  }
});

test('a damaged sorted file is set aside by a repair, and told', async () => {
  const disk = await killed();
  const [file] = disk.readdir('/db').filter((name) => name.endsWith('.sst'));
  const bytes = disk.contents(`/db/${file}`);
  bytes[100]! ^= 1;
  const { setAside, lost } = await repairStore('/db', disk);
  expect(setAside.map((each) => each.file)).toEqual([file]);
  expect(lost).toEqual([expect.stringMatching(/^21 cells of rows r0 to r9 in .*\.sst, of .+, family .+$/)]);
  expect(await rowsOf(disk)).toBe(39);
  expect(await repairStore('/db', disk)).toMatchObject({ setAside: [], lost: [], folder: undefined });
});

test.each([1, 7])(
  'of a file with %i damaged blocks the others are saved, and what is lost is told',
  async (damages) => {
    const disk = new MemoryFileSystem();
    const engine = await openEmbedded('/db', { fileSystem: disk, automatic: false });
    const table = await createTable(engine, { f: { blockSize: 1024, versions: 3 } });
    const name = (i: number): string => `r${String(i).padStart(4, '0')}`;
    for (let i = 0; i < 2000; i++)
      await table.delete(new Delete(name(i), 9).addFamily('f').setDurability('SKIP_WAL'));
    for (let i = 0; i < 2000; i++)
      await table.put(put(name(i), `v${i}`, 'f', 'q', 20).setDurability('SKIP_WAL'));
    await engine.admin.flush('t');
    await engine.admin.split('t', Buffer.from(name(1000)));
    await engine.close();
    const [file] = disk.readdir('/db').filter((each) => each.endsWith('.sst'));
    const bytes = disk.contents(`/db/${file}`);
    const data = Math.floor(bytes.length * 0.8);
    for (let n = 0; n < damages; n++) bytes[Math.floor((data / damages) * n) + 100]! ^= 16;
    const { setAside, lost, savedCells } = await repairStore('/db', disk);
    expect(setAside.map((each) => each.file)).toEqual([file]);
    expect(lost.length).toBe(damages + 1);
    expect(savedCells).toBeGreaterThan(4000 - damages * 60);
    expect(savedCells).toBeLessThan(4000);
    expect(lost.at(-1)).toContain(`${4000 - savedCells} of 4000 cells`);
    const again = await openEmbedded('/db', { fileSystem: disk, automatic: false });
    await again.verify();
    const found = new Set(await contents(again.table('t')));
    const expected = new Set(Array.from({ length: 2000 }, (_, i) => `${name(i)} f:q=v${i}`));
    expect([...found].filter((line) => !expected.has(line))).toEqual([]);
    expect(found.size).toBeGreaterThan(2000 - damages * 30);
    // What is missing lies in the spans that were told.
    const spans = lost
      .slice(0, -1)
      .map((text) => /from (?:row (\S+)|the first row) to (?:before row (\S+):|the last)/.exec(text)!);
    for (const line of expected) {
      if (found.has(line)) continue;
      const row = line.slice(0, 5);
      expect(
        spans.some(([, from, to]) => (!from || row >= from) && (!to || row < to)),
        row,
      ).toBe(true);
    }
    await again.close();
    expect(await repairStore('/db', disk)).toMatchObject({ setAside: [], lost: [], savedCells: 0 });
    expect(disk.openHandles).toBe(0);
  },
);

test('a leftover that cannot be removed does not refuse the store', async () => {
  const disk = await killed();
  disk.place('/db/000900.sst', Buffer.from('half a file'));
  const files = new FaultFileSystem(disk);
  files.inject({ calls: ['unlink'], path: /\.sst$/, errno: 'EACCES', times: Number.POSITIVE_INFINITY });
  const engine = await openEmbedded('/db', { fileSystem: files, ...OPTIONS });
  await engine.admin.flush('t');
  await engine.close();
  files.clear();
  expect(await rowsOf(disk)).toBe(60);
  expect(disk.exists('/db/000900.sst')).toBe(false);
});

test('a log that was open is written anew before its bytes are vouched for', async () => {
  const disk = await killed();
  const created: string[] = [];
  const files = disk.crash(
    { keepUnsynced: 1, random: () => 0 },
    { onOperation: ({ call, path }) => void (call === 'create' && created.push(path)) },
  );
  const open = files
    .readdir('/db')
    .filter((name) => name.endsWith('.wal'))
    .at(-1)!;
  const engine = await openEmbedded('/db', { fileSystem: files, ...OPTIONS });
  expect(created).toContain(`/db/${open}.tmp`);
  await engine.close();
});

test('what an opening reads from the log is flushed from the flush size on, without another write', async () => {
  const disk = await killed();
  const engine = await openEmbedded('/db', {
    fileSystem: disk,
    background: 'inline',
    memstoreFlushSize: 4000,
  });
  await engine.quiet();
  const [family] = engine.stats().tables[0]!.regions[0]!.families;
  expect(family).toMatchObject({ memstoreBytes: 0, cells: 60 });
  await engine.close();
  expect(await rowsOf(disk)).toBe(60);
});

test('close flushes, and the next opening has no log to read; as far as the option says', async () => {
  for (const [flushOnClose, segments] of [
    [true, 0],
    [{ minBytes: 1 << 20 }, 5],
    [false, 5],
  ] as const) {
    const disk = kill(await killed());
    const engine = await openEmbedded('/db', { fileSystem: disk, ...OPTIONS, flushOnClose });
    await engine.close();
    const logs = disk.readdir('/db').filter((name) => name.endsWith('.wal'));
    if (segments === 0) expect(logs).toEqual([]);
    else expect(logs.length).toBeGreaterThan(2);
    expect(await rowsOf(disk)).toBe(60);
  }
});

test('a close that cannot flush still closes, and loses nothing', async () => {
  const disk = await killed();
  const files = new FaultFileSystem(disk);
  const events: string[] = [];
  const engine = await openEmbedded('/db', {
    fileSystem: files,
    ...OPTIONS,
    flushOnClose: { minBytes: 0 },
    onEvent: (event) => events.push(event.kind),
  });
  files.inject({ calls: ['write'], path: /\.sst$/, errno: 'ENOSPC', times: Number.POSITIVE_INFINITY });
  await engine.close();
  expect(events).toContain('backgroundError');
  expect(disk.openHandles).toBe(0);
  files.clear();
  expect(await rowsOf(disk)).toBe(60);
});

test.each([
  ['many small cells', 20_000, 1, 10],
  ['few large ones', 60, 200_000, 2 * 20],
] as const)('others have their turns while a file of %s is verified', async (_, cells, size, least) => {
  const files = new MemoryFileSystem();
  const engine = await openEmbedded('/db', { fileSystem: files, automatic: false });
  const table = await createTable(engine);
  const value = 'v'.repeat(size);
  await table.putAll(Array.from({ length: cells }, (_, i) => put(`r${i}`, value)));
  await engine.admin.flush('t');
  let turns = 0;
  let verified = false;
  const verify = engine.verify().then(() => (verified = true));
  while (!verified) {
    await new Promise((resolve) => setImmediate(resolve));
    turns++;
  }
  await verify;
  expect(turns).toBeGreaterThanOrEqual(least);
  await engine.close();
});

test('a store that was written under a wrong clock says so at every opening, until its clock is mended', async () => {
  const disk = new MemoryFileSystem();
  const NOW = Date.UTC(2026, 0, 1);
  const WRONG = Date.UTC(2100, 0, 1);
  const use = async (now: number, run: (engine: EmbeddedEngine) => Promise<void>): Promise<StoreEvent[]> => {
    const told: StoreEvent[] = [];
    const onEvent = (event: StoreEvent): void => void (event.kind === 'clockAhead' && told.push(event));
    const engine = await openEmbedded('/db', { fileSystem: disk, ...OPTIONS, clock: () => now, onEvent });
    await run(engine);
    await engine.close();
    return told;
  };
  const timeOf = async (engine: EmbeddedEngine, row: string): Promise<number> =>
    (await engine.table('t').get(new Get(row))).cells[0]!.timestamp;
  await use(NOW, async (engine) => {
    const table = await createTable(engine);
    await engine.admin.createTable(tableDescriptor('off', { f: {} }));
    await table.put(put('before', 'v'));
    await engine.table('off').put(put('before', 'v'));
    await engine.admin.disableTable('off');
  });
  // A clock within the bound is not told of.
  expect(await repairStoreClock('/db', disk, NOW)).toEqual({ before: NOW, after: NOW, tables: [] });
  expect(await use(NOW - 60_000, async () => {})).toEqual([]);
  expect(await use(WRONG, async (engine) => engine.table('t').put(put('wrong', 'v')))).toEqual([]);
  const told = await use(NOW + 1000, async (engine) => {
    await engine.table('t').put(put('late', 'v'));
    expect(await timeOf(engine, 'late')).toBe(WRONG);
    expect(engine.stats().clock).toBe(WRONG);
  });
  expect(told).toEqual([{ kind: 'clockAhead', clock: WRONG, milliseconds: WRONG - NOW - 1000 }]);
  expect(await repairStoreClock('/db', disk, NOW + 2000)).toEqual({
    before: WRONG,
    after: NOW + 2000,
    tables: [{ table: 't', latest: WRONG }],
  });
  const after = await use(NOW + 3000, async (engine) => {
    await engine.table('t').put(put('mended', 'v'));
    expect(await timeOf(engine, 'mended')).toBe(NOW + 3000);
    expect((await contents(engine.table('t'))).length).toBe(4);
    await engine.admin.enableTable('off');
    expect((await engine.table('off').get(new Get('before'))).isEmpty).toBe(false);
  });
  expect(after).toEqual([]);
  expect(await repairStore('/db', disk)).toMatchObject({ setAside: [], lost: [] });
});
