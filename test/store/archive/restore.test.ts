import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pruneStoreBackups, restoreStore } from '../../../src/store/backup.js';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import { Cell, CellType, Delete, Put, RowMutations, tableDescriptor } from '../../../src/table/index.js';
import { batchedPuts, contentsOf, loadedCells } from '../../crash/archived-disk.js';
import { seededRandom } from '../../crash/seeded-random.js';
import { scaled } from '../../proof/scale.js';

let root: string;
let backups: string;
let archive: string;
let time: number;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rowan-archive-'));
  backups = join(root, 'backups');
  archive = join(root, 'archive');
  time = 1_700_000_000_000;
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** The options of a store without a word about its archive. */
const settings = (): EmbeddedOptions => ({
  background: 'inline',
  clock: () => time,
  walSegmentSize: 4000,
  walPreparedSize: 0,
});

const openStore = (options: EmbeddedOptions = {}, path = join(root, 'store')): Promise<EmbeddedEngine> =>
  openEmbedded(path, { ...settings(), logArchive: archive, ...options });

const openUnsaid = (): Promise<EmbeddedEngine> => openEmbedded(join(root, 'store'), settings());

/** What a restored store has, which is verified. */
async function restored(
  to: number | Date | undefined,
  options: Pick<EmbeddedOptions, 'encryption'> = {},
): Promise<Record<string, unknown>> {
  const target = join(root, 'restored');
  await restoreStore(backups, target, { ...(to === undefined ? {} : { to }), log: archive, ...options });
  expect(existsSync(join(target, 'ARCHIVE'))).toBe(false);
  const engine = await openEmbedded(target, {
    background: 'inline',
    clock: () => time,
    createIfMissing: false,
    ...options,
  });
  await engine.verify();
  const found = await contentsOf(engine);
  // It takes writes: numbers of tables, files and writes go on after those of the log.
  await engine.admin.createTable(tableDescriptor('fresh', { f: {} }));
  await engine.table('fresh').put(new Put('r').addColumn('f', 'q', 'v'));
  await engine.close();
  rmSync(target, { recursive: true });
  return found;
}

test.each(Array.from({ length: scaled(2, 3, 400) }, (_, seed) => seed))(
  'a store restored to a moment is as it was at that moment (seed %i)',
  async (seed) => {
    const random = seededRandom(seed);
    const below = (n: number): number => Math.floor(random() * n);
    const encryption = { keyId: 'k1', key: () => new Uint8Array(32).fill(7) };
    const options = seed % 3 === 2 ? { encryption } : {};
    let path = join(root, 'store');
    let engine = await openStore(options, path);
    const moments: { seq: number; time: number; contents: Record<string, unknown> }[] = [];
    let names = 0;
    let copies = 0;
    const tables = async (): Promise<string[]> => (await engine.admin.listTables()).map(({ name }) => name);
    const ops: Readonly<Record<string, (table: string) => Promise<unknown>>> = {
      put: (table) =>
        engine.table(table).put(new Put(`r${below(20)}`).addColumn('f', `q${below(3)}`, `v${time}`)),
      batch: (table) => engine.table(table).putAll(batchedPuts(time)),
      delete: (table) => engine.table(table).delete(new Delete(`r${below(20)}`)),
      // The row is ahead of the clock then.
      again: (table) => {
        const row = `r${below(20)}`;
        return engine
          .table(table)
          .mutateRow(new RowMutations(row).add(new Delete(row)))
          .then(() => engine.table(table).put(new Put(row).addColumn('f', 'q', 'again')));
      },
      flush: (table) => engine.admin.flush(table),
      compact: (table) => engine.admin.majorCompact(table),
      split: (table) => engine.admin.split(table, Buffer.from(`r${below(20)}x`)).catch(() => undefined),
      create: () =>
        engine.admin.createTable(tableDescriptor(`t${++names}`, { f: { versions: 3 } }), [
          Buffer.from('r11'),
        ]),
      drop: async (table) => {
        await engine.admin.disableTable(table);
        await engine.admin.deleteTable(table);
      },
      truncate: async (table) => {
        await engine.admin.disableTable(table);
        await engine.admin.truncateTable(table);
      },
      alter: (table) =>
        engine.admin.modifyTable(
          tableDescriptor(table, { f: { versions: 3 }, ...(below(2) ? { g: {} } : {}) }),
        ),
      other: (table) =>
        engine
          .table(table)
          .put(new Put(`r${below(20)}`).addColumn('g', 'q', `v${time}`))
          .catch(() => undefined),
      load: (table) => engine.bulkLoad(table, loadedCells(time)),
      clone: async (table) => {
        await engine.admin.snapshot(`s${++names}`, table);
        await engine.admin.cloneSnapshot(`s${names}`, `t${names}`);
      },
      reset: async (table) => {
        const [snapshot] = (await engine.admin.listSnapshots()).filter((each) => each.table === table);
        if (snapshot === undefined) return;
        await engine.admin.disableTable(table);
        await engine.admin.restoreSnapshot(snapshot.name);
        await engine.admin.enableTable(table);
      },
      namespace: () => engine.admin.createNamespace(`n${++names}`),
      reopen: async () => {
        await engine.close();
        engine = await openStore(options, path);
      },
      // As after a crash: what a process leaves that ends in this turn.
      crash: async () => {
        const before = path;
        path = join(root, `store${++copies}`);
        cpSync(before, path, { recursive: true, filter: (name) => !/LOCK|\.sock/.test(name) });
        const moved = join(root, `archive${copies}`);
        cpSync(archive, moved, { recursive: true, filter: (name) => !/LOCK|\.sock/.test(name) });
        await engine.close();
        archive = moved;
        engine = await openStore(options, path);
      },
      archive: () => engine.archiveLog(),
    };
    const often = [
      'put',
      'put',
      'put',
      'batch',
      'batch',
      'delete',
      'again',
      'other',
      'load',
      ...Object.keys(ops),
    ];
    await ops['create']!('');
    const backupAt = below(30);
    for (let i = 0; i < 60; i++) {
      time += 1 + below(1000);
      const all = await tables();
      const op = all.length === 0 ? 'create' : often[below(often.length)]!;
      await ops[op]!(all[below(all.length)]!);
      if (i === backupAt || (i > backupAt && below(25) === 0)) await engine.backup(backups);
      if (i < backupAt) continue;
      moments.push({ seq: engine.commits.last, time, contents: await contentsOf(engine) });
    }
    await engine.archiveLog();
    const last = moments.at(-1)!;
    expect(await restored(undefined, options)).toEqual(last.contents);
    for (let i = 0; i < scaled(1, 5, 16); i++) {
      const moment = moments[below(moments.length)]!;
      expect(await restored(new Date(moment.time), options), `time ${moment.time}`).toEqual(moment.contents);
      // A change of tables has no number of its own: the state after the last one before the next write.
      const bySeq = moments.findLast(({ seq }) => seq === moment.seq)!;
      expect(await restored(moment.seq, options), `write ${moment.seq}`).toEqual(bySeq.contents);
    }
    await engine.close();
  },
);

/** A store with a backup, ten segments of its log in the archive, and the last write of each. */
async function archivedStore(): Promise<{ engine: EmbeddedEngine; seqs: number[] }> {
  const engine = await openStore();
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  await engine.backup(backups);
  const seqs: number[] = [];
  for (let i = 0; i < 200; i++) {
    time += 1000;
    await engine.table('t').put(new Put(`r${i}`).addColumn('f', 'q', 'x'.repeat(200)));
    seqs.push(engine.commits.last);
  }
  await engine.archiveLog();
  return { engine, seqs };
}

test('a damaged or missing segment is named, nothing is restored, and moments before it are', async () => {
  const { engine, seqs } = await archivedStore();
  await engine.close();
  const segments = readdirSync(archive).filter((name) => name.endsWith('.wal'));
  expect(segments.length).toBeGreaterThan(5);
  const third = join(archive, segments[2]!);
  const bytes = readFileSync(third);
  const target = join(root, 'restored');
  const flipped = Buffer.from(bytes);
  flipped[1000]! ^= 1;
  for (const [damage, what] of [
    [() => writeFileSync(third, flipped), segments[2]!],
    [() => writeFileSync(third, bytes.subarray(0, 1500)), segments[2]!],
    [() => rmSync(third), `${segments[2]}" with writes \\d+ to \\d+ is missing. Nothing was restored`],
  ] as const) {
    damage();
    await expect(restoreStore(backups, target, { log: archive })).rejects.toMatchObject({
      code: 'ERR_CORRUPTION',
      message: expect.stringMatching(what),
    });
    expect(readdirSync(root).filter((name) => name.startsWith('restored'))).toEqual([]);
  }
  writeFileSync(third, flipped);
  expect((await restoreStore(backups, target, { log: archive, to: seqs[3]! })).log!.seq).toBe(seqs[3]);
  writeFileSync(third, bytes);
  const index = join(archive, 'INDEX');
  const lines = readFileSync(index);
  const wrong = Buffer.from(lines);
  wrong[lines.length - 20]! ^= 1;
  writeFileSync(index, wrong);
  await expect(restoreStore(backups, `${target}2`, { log: archive })).rejects.toThrow(
    'INDEX" is damaged at byte',
  );
  writeFileSync(index, lines.subarray(0, lines.length - 300));
  await expect(restoreStore(backups, `${target}2`, { log: archive })).rejects.toThrow(
    'the end of the INDEX is lost',
  );
});

test('the store keeps segments until they are archived, and writes go on while the archive cannot be written', async () => {
  const errors: string[] = [];
  const engine = await openStore({
    onEvent: (event) => {
      if (event.kind === 'backgroundError') errors.push(`${event.work} ${event.error.code}`);
    },
  });
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  await engine.backup(backups);
  const away = join(root, 'away');
  cpSync(archive, away, { recursive: true, filter: (name) => !/LOCK|\.sock/.test(name) });
  rmSync(archive, { recursive: true });
  for (let i = 0; i < 100; i++)
    await engine.table('t').put(new Put(`r${i}`).addColumn('f', 'q', 'x'.repeat(200)));
  await engine.admin.flush('t');
  await expect(engine.archiveLog()).rejects.toThrow(archive);
  await engine.quiet();
  const logs = (): number => readdirSync(join(root, 'store')).filter((name) => name.endsWith('.wal')).length;
  expect(logs()).toBeGreaterThan(5);
  expect(
    engine.metrics().find(({ name }) => name === 'rowan.store.log.unarchived')!.value,
  ).toBeGreaterThanOrEqual(0);
  await expect(engine.admin.createTable(tableDescriptor('u', { f: {} }))).rejects.toThrow();
  expect(await engine.admin.tableExists('u')).toBe(false);
  await engine.close();
  expect(errors.length).toBeGreaterThan(0);
  expect(new Set(errors)).toEqual(new Set(['archive ERR_IO']));
  await expect(openUnsaid()).rejects.toThrow('which is not there');
  archive = away;
  const again = await openStore();
  await again.archiveLog();
  await again.table('t').put(new Put('last').addColumn('f', 'q', 'v'));
  await again.admin.flush('t');
  await again.archiveLog();
  await again.quiet();
  expect(logs()).toBeLessThan(4);
  const state = await contentsOf(again);
  await again.close();
  expect(await restored(undefined)).toEqual(state);
});

test('nothing is archived while the disk of the archive is away, and all of it when it is back', async () => {
  const engine = await openStore();
  const put = async (from: number): Promise<void> => {
    for (let i = from; i < from + 3; i++)
      await engine.table('t').put(new Put(`r${i}`).addColumn('f', 'q', 'x'.repeat(100)));
  };
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  await engine.backup(backups);
  await put(0);
  await engine.archiveLog();
  const away = join(root, 'away');
  renameSync(archive, away);
  // What a disk leaves that is unmounted.
  mkdirSync(archive);
  await put(3);
  await expect(engine.archiveLog()).rejects.toMatchObject({
    code: 'ERR_IO',
    message: expect.stringMatching(
      /archive" is not what it was: its INDEX has 0 bytes, and had \d+\. Mount its disk/,
    ),
  });
  expect(readdirSync(archive)).toEqual([]);
  // Of an older copy, too, nothing is missing in the middle.
  rmSync(archive, { recursive: true });
  renameSync(away, archive);
  const segment = join(archive, readdirSync(archive).find((name) => name.endsWith('.wal'))!);
  await engine.archiveLog();
  await put(6);
  truncateSync(segment, 60);
  await put(50);
  await engine.archiveLog();
  const state = await contentsOf(engine);
  await engine.close();
  expect(await restored(undefined)).toEqual(state);
});

test('a store goes on with its archive without the option, and refuses that of another store or of its own later state', async () => {
  const { engine } = await archivedStore();
  await engine.close();
  const old = join(root, 'old');
  cpSync(join(root, 'store'), old, { recursive: true });
  const again = await openUnsaid();
  await again.table('t').put(new Put('more').addColumn('f', 'q', 'v'));
  await expect(openStore({}, join(root, 'other'))).rejects.toMatchObject({ code: 'ERR_LOCKED' });
  const state = await contentsOf(again);
  await again.close();
  expect(await restored(undefined)).toEqual(state);
  await expect(openStore({}, join(root, 'other'))).rejects.toThrow('is of another store');
  await expect(openStore({}, old)).rejects.toThrow('or of a later state of this one');
  const ended = await openStore({ logArchive: null });
  await expect(ended.archiveLog()).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
  await ended.close();
  await expect(openStore()).rejects.toThrow('is of another store');
  await expect(openStore({ logArchive: backups })).rejects.toThrow('is not empty');
  mkdirSync(join(root, 'disk', 'lost+found'), { recursive: true });
  await (await openStore({ logArchive: join(root, 'disk') })).close();
});

test('a store that had tables before its archive keeps them; times are of the clock, also where a row is ahead of it', async () => {
  const unarchived = await openUnsaid();
  await unarchived.admin.createTable(tableDescriptor('t', { f: {} }));
  await unarchived.close();
  const engine = await openStore();
  await engine.backup(backups);
  time += 1000;
  await engine.admin.createTable(tableDescriptor('u', { f: {} }));
  for (let i = 0; i < 20; i++) {
    await engine.table('t').put(new Put('ahead').addColumn('f', 'q', `${i}`));
    await engine.table('t').delete(new Delete('ahead'));
  }
  time += 1;
  await engine.table('u').put(new Put('r').addColumn('f', 'q', 'v'));
  const state = await contentsOf(engine);
  const moment = new Date(time);
  time += 1;
  await engine.table('u').put(new Put('later').addColumn('f', 'q', 'v'));
  await engine.archiveLog();
  await engine.close();
  expect(Object.keys(state)).toEqual(['namespaces', 't', 'u']);
  expect(await restored(moment)).toEqual(state);
});

test('a crash between the archive and the MANIFEST: tables are listed again, and those made after the backup are restored', async () => {
  const engine = await openStore();
  await engine.backup(backups);
  await engine.admin.createTable(tableDescriptor('t', { f: {} }), [Buffer.from('m')]);
  await engine.table('t').put(new Put('r').addColumn('f', 'q', 'v'));
  await engine.archiveLog();
  const copy = (from: string, to: string): void =>
    cpSync(from, to, { recursive: true, filter: (name) => !/LOCK|\.sock/.test(name) });
  copy(join(root, 'store'), join(root, 'crashed'));
  await engine.admin.createTable(tableDescriptor('lost', { f: {} }));
  copy(archive, join(root, 'archive2'));
  await engine.close();
  archive = join(root, 'archive2');
  const again = await openStore({}, join(root, 'crashed'));
  await again.table('t').put(new Put('z').addColumn('f', 'q', 'v'));
  const state = await contentsOf(again);
  await again.close();
  expect(Object.keys(state)).toEqual(['namespaces', 't']);
  expect(await restored(undefined)).toEqual(state);
});

test('pruning backups takes from the archive what only removed ones need, and nothing else', async () => {
  const { engine } = await archivedStore();
  const load = async (row: string): Promise<unknown> =>
    engine.bulkLoad('t', [
      new Cell(Buffer.from(row), 'f', Buffer.from('q'), time, CellType.Put, Buffer.from('loaded')),
    ]);
  const names = (end: string): string[] => readdirSync(archive).filter((name) => name.endsWith(end));
  await load('l1');
  const before = names('.wal').length;
  await engine.backup(backups);
  await load('l2');
  await engine.table('t').put(new Put('last').addColumn('f', 'q', 'v'));
  await engine.backup(backups);
  await load('l3');
  await engine.archiveLog();
  const state = await contentsOf(engine);
  expect(names('.sst').length).toBe(3);
  expect(await pruneStoreBackups(backups, { keep: 1, log: archive })).toMatchObject([
    { name: '000001' },
    { name: '000002' },
  ]);
  expect(names('.sst').length).toBe(2);
  expect(names('.wal').length).toBeLessThan(before / 2);
  expect(await restored(undefined)).toEqual(state);
  await engine.close();
});

test('what came after the last backup stays, though no write stands between it and the removed ones', async () => {
  const engine = await openStore();
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  await engine.table('t').put(new Put('r').addColumn('f', 'q', 'v'));
  await engine.admin.snapshot('s', 't');
  await engine.backup(backups);
  await engine.backup(backups);
  await engine.admin.cloneSnapshot('s', 'copy');
  await engine.archiveLog();
  const state = await contentsOf(engine);
  await pruneStoreBackups(backups, { keep: 1, log: archive });
  expect(await restored(undefined)).toEqual(state);
  await engine.close();
});

test('a backup from before the archive, and moments before every backup, are refused', async () => {
  const engine = await openUnsaid();
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  await engine.table('t').put(new Put('0').addColumn('f', 'q', 'v'));
  await engine.backup(backups);
  await engine.table('t').put(new Put('a').addColumn('f', 'q', 'v'));
  await engine.close();
  const archived = await openStore();
  await archived.table('t').put(new Put('b').addColumn('f', 'q', 'v'));
  const { last } = archived.commits;
  await archived.close();
  const target = join(root, 'restored');
  await expect(restoreStore(backups, target, { log: archive })).rejects.toThrow(
    /begins after write \d+, and the backup ends with write \d+/,
  );
  expect(existsSync(target)).toBe(false);
  for (const to of [new Date(0), 0])
    await expect(restoreStore(backups, target, { log: archive, to })).rejects.toThrow(
      'no backup to begin with',
    );
  await expect(restoreStore(backups, target, { log: archive, to: '000001' })).rejects.toThrow(
    'sequence number',
  );
  await expect(restoreStore(backups, target, { to: last })).rejects.toThrow('a number needs `log`');
  await expect(restoreStore(backups, target, { log: backups })).rejects.toThrow('holds no log archive');
});
