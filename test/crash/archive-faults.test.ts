/** Stores whose log is archived to a disk that fails and loses power, with the store's disk or alone. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RowanError } from '../../src/errors.js';
import { restoreStore } from '../../src/store/backup.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { NodeFileSystem } from '../../src/store/fs/index.js';
import { Cell, CellType, Delete, Put, tableDescriptor } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { type Fault, FaultFileSystem } from '../store/fs/fault-fs.js';
import { ArchiveCalls } from './archive-calls.js';
import { ArchivedDisk, batchedPuts, contentsOf, loadedCells } from './archived-disk.js';
import { seededRandom } from './seeded-random.js';
import { smallStore } from './workload.js';

const SEEDS = Array.from({ length: scaled(1, 5, 400) }, (_, i) => i + Number(process.env['ROWAN_SEED'] ?? 1));
const LIVES = scaled(2, 6, 12);

const ARCHIVE = /\/archive(?:\/|$)/;

/** What a failing disk of the archive, and at times of the store, refuses. */
const FAULTS: readonly { readonly name: string; readonly fault: Fault }[] = [
  {
    name: 'the archive is full',
    fault: { path: ARCHIVE, calls: ['write'], errno: 'ENOSPC', times: Infinity },
  },
  { name: 'the archive was full', fault: { path: ARCHIVE, calls: ['write'], errno: 'ENOSPC', times: 3 } },
  { name: 'a sync of the archive fails', fault: { path: ARCHIVE, calls: ['sync'] } },
  {
    name: 'the archive is read-only',
    fault: { path: ARCHIVE, calls: ['open'], errno: 'EACCES', times: Infinity },
  },
  { name: 'a rename in the archive fails', fault: { path: ARCHIVE, calls: ['rename', 'syncDirectory'] } },
  { name: 'a removal in the archive fails', fault: { path: ARCHIVE, calls: ['unlink', 'truncate'] } },
  { name: 'the MANIFEST cannot be begun anew', fault: { path: /MANIFEST/, calls: ['create'], times: 2 } },
  { name: 'the MANIFEST cannot be synced', fault: { path: /MANIFEST/, calls: ['sync'] } },
  { name: 'the log of the store cannot be synced', fault: { path: /db\/.*\.wal/, calls: ['sync'] } },
];

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rowan-archive-faults-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function isWritable(engine: EmbeddedEngine): boolean {
  try {
    engine.checkWritable();
    return true;
  } catch {
    return false;
  }
}

interface Moment {
  seq: number;
  readonly time: number;
  readonly contents: Record<string, unknown>;
}

it.each(SEEDS)('an archive restores any moment, whatever failed at which crash (seed %i)', async (seed) => {
  const random = seededRandom(seed);
  const below = (n: number): number => Math.floor(random() * n);
  let time = 1_700_000_000_000;
  let crashed: MemoryFileSystem | undefined;
  let crashAfter = Infinity;
  const onOperation = (): void => {
    if (--crashAfter > 0) return;
    crashAfter = Infinity;
    crashed = memory.crash({
      keepUnsynced: [0, 0.5, 1][below(3)]!,
      random,
      unit: random() < 0.5 ? 512 : 4096,
    });
  };
  let memory = new MemoryFileSystem({ onOperation });
  const begun = new ArchivedDisk(root, memory);
  await begun.begin({});
  begun.archiveInMemory();
  let faults = new FaultFileSystem(memory);
  const calls = new ArchiveCalls(begun.archive, memory, faults);
  const moments: Moment[] = [];
  const trace: string[] = [];
  let engine: EmbeddedEngine | undefined;
  let names = 0;
  let failures = 0;

  const open = async (): Promise<EmbeddedEngine> => {
    const disk = new ArchivedDisk(root, memory, faults);
    return openEmbedded(disk.store, {
      ...smallStore(disk, { clock: () => time, durability: 'FSYNC_WAL', walPreparedSize: 0 }),
      logArchive: disk.archive,
    });
  };
  const ops: Readonly<Record<string, (store: EmbeddedEngine, table: string) => Promise<unknown>>> = {
    put: (store, table) => store.table(table).put(new Put(`r${below(20)}`).addColumn('f', 'q', `v${time}`)),
    batch: (store, table) => store.table(table).putAll(batchedPuts(time)),
    delete: (store, table) => store.table(table).delete(new Delete(`r${below(20)}`)),
    flush: (store, table) => store.admin.flush(table),
    compact: (store, table) => store.admin.majorCompact(table),
    create: (store) =>
      store.admin.createTable(tableDescriptor(`t${++names}`, { f: {} }), [Buffer.from('r11')]),
    alter: (store, table) =>
      store.admin.modifyTable(tableDescriptor(table, { f: {}, ...(below(2) ? { g: {} } : {}) })),
    drop: async (store, table) => {
      if (await store.admin.isTableEnabled(table)) await store.admin.disableTable(table);
      await store.admin.deleteTable(table);
    },
    load: (store, table) => store.bulkLoad(table, loadedCells(time)),
    clone: async (store, table) => {
      await store.admin.snapshot(`s${++names}`, table);
      await store.admin.cloneSnapshot(`s${names}`, `t${names}`);
    },
    archive: (store) => store.archiveLog(),
  };
  const often = [
    'put',
    'put',
    'put',
    'batch',
    'batch',
    'delete',
    'load',
    'load',
    'archive',
    ...Object.keys(ops),
  ];

  /** What the store has now is what it has at this moment. */
  const remember = async (store: EmbeddedEngine): Promise<void> => {
    moments.push({ seq: store.commits.last, time, contents: await contentsOf(store) });
  };
  /** Goes on with what a crash has left, or an end of the process. */
  const live = async (): Promise<void> => {
    memory = crashed ?? memory.crash({ keepUnsynced: 1, random });
    crashed = undefined;
    faults = new FaultFileSystem(memory);
    calls.memory = memory;
    calls.faults = faults;
    time += 1 + below(1000);
    engine = await open();
    // Numbers that only failed changes had are given again.
    for (const moment of moments) moment.seq = Math.min(moment.seq, engine.commits.last);
    await remember(engine);
  };
  /** Runs one change. @returns whether the store goes on after it. */
  const change = async (store: EmbeddedEngine): Promise<boolean> => {
    const tables: string[] = [];
    for (const { name } of await store.admin.listTables())
      if (await store.admin.isTableEnabled(name)) tables.push(name);
    const name = tables.length === 0 ? 'create' : often[below(often.length)]!;
    time += 1 + below(1000);
    try {
      await ops[name]!(store, tables[below(tables.length)]!);
      trace.push(`${time} ${name}`);
    } catch (error) {
      trace.push(`${time} ${name}: ${(error as Error).message}`);
      if (!(error instanceof RowanError) || !['ERR_IO', 'ERR_READONLY', 'ERR_BUSY'].includes(error.code))
        throw error;
      failures++;
    }
    // What a failed change of the log or the MANIFEST has left is known by the next opening only.
    if (crashed !== undefined || !isWritable(store)) return false;
    await remember(store);
    return true;
  };
  const restored = async (to: number | Date | undefined): Promise<Record<string, unknown>> => {
    const folder = join(root, 'copy');
    begunWith().copyTo(folder, memory);
    const target = join(folder, 'restored');
    await restoreStore(join(root, 'backups'), target, {
      ...(to === undefined ? {} : { to }),
      log: join(folder, 'archive'),
    });
    const copy = await openEmbedded(
      target,
      smallStore(new NodeFileSystem(), { automatic: false, clock: () => time }),
    );
    const found = await contentsOf(copy);
    await copy.close();
    rmSync(folder, { recursive: true });
    return found;
  };
  const begunWith = (): ArchivedDisk => new ArchivedDisk(root, memory);

  try {
    for (let life = 0; life < LIVES; life++) {
      await live();
      trace.push(`-- life ${life}`);
      const { name, fault } = FAULTS[below(FAULTS.length)]!;
      faults.inject({ ...fault, after: below(20), shortWrite: (length) => below(length) });
      trace.push(name);
      if (random() < 0.7) crashAfter = 1 + below(400);
      for (let i = 0; i < 20; i++) {
        if (!(await change(engine!))) break;
        if (random() < 0.1) faults.clear();
      }
      crashAfter = Infinity;
      const end = crashed === undefined && random() < 0.3;
      // After a crash it is another disk that is closed.
      if (!end) crashed ??= memory.crash({ keepUnsynced: 1, random });
      await engine!.close().catch((error: unknown) => expect(error).toBeInstanceOf(RowanError));
      engine = undefined;
    }
    await live();
    await engine!.archiveLog();
    const last = moments.at(-1)!;
    expect(await restored(undefined), 'the end').toEqual(last.contents);
    for (let i = 0; i < scaled(2, 8, 16); i++) {
      const moment = moments[below(moments.length)]!;
      expect(await restored(new Date(moment.time)), `time ${moment.time}`).toEqual(moment.contents);
      const bySeq = moments.findLast(({ seq }) => seq === moment.seq)!;
      expect(await restored(moment.seq), `write ${moment.seq}`).toEqual(bySeq.contents);
    }
    record('archive-faults', { 'changes that failed': failures });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${trace.join('\n')}`, { cause: error });
  } finally {
    await engine?.close();
    calls.end();
  }
});

it('a load that failed after its line was written is not restored, though the process is killed before the next line', async () => {
  const memory = new MemoryFileSystem();
  const begun = new ArchivedDisk(root, memory);
  await begun.begin({});
  begun.archiveInMemory();
  const faults = new FaultFileSystem(memory);
  const calls = new ArchiveCalls(begun.archive, memory, faults);
  const options = (disk: ArchivedDisk) => ({ ...smallStore(disk), logArchive: disk.archive });
  const load = (store: EmbeddedEngine, value: string): Promise<unknown> =>
    store.bulkLoad('t', [
      new Cell(Buffer.from(value), 'f', Buffer.from('q'), 1, CellType.Put, Buffer.from(value)),
    ]);
  const put = (store: EmbeddedEngine, row: string): Promise<void> =>
    store.table('t').put(new Put(row).addColumn('f', 'q', 'v'));
  const disk = new ArchivedDisk(root, memory, faults);
  const engine = await openEmbedded(disk.store, options(disk));
  try {
    await engine.admin.createTable(tableDescriptor('t', { f: {} }));
    await load(engine, 'first');
    faults.inject({ path: /INDEX/, calls: ['sync'], times: Infinity });
    await expect(load(engine, 'failed')).rejects.toMatchObject({ code: 'ERR_IO' });
    expect(Buffer.from(memory.contents(join(disk.archive, 'INDEX'))).toString()).toContain(
      Buffer.from('failed').toString('base64'),
    );
    // Its number is below that of an acknowledged write.
    await put(engine, 'after');
    const left = memory.crash({ keepUnsynced: 1, random: () => 0 });
    await engine.close();
    calls.memory = left;
    const killed = new ArchivedDisk(root, calls.memory);
    calls.faults = new FaultFileSystem(calls.memory);
    const again = await openEmbedded(killed.store, options(killed));
    const { last } = again.commits;
    const contents = await contentsOf(again);
    await load(again, 'second');
    const later = await contentsOf(again);
    // A load that fails has a number, which no reader has seen, as changes of tables behind it have been.
    const { last: visible } = again.commits;
    calls.faults.inject({ path: /INDEX/, calls: ['sync'], times: 1 });
    await expect(load(again, 'failed again')).rejects.toMatchObject({ code: 'ERR_IO' });
    await again.admin.createTable(tableDescriptor('behind', { f: {} }));
    expect([again.commits.last, again.stats().lastSeq]).toEqual([visible, visible + 1]);
    const behind = await contentsOf(again);
    await again.close();
    expect(behind).toEqual({ ...later, behind: { families: ['f'], cells: [] } });
    expect(JSON.stringify(contents)).not.toContain('failed');
    const folder = join(root, 'copy');
    killed.copyTo(folder, calls.memory);
    for (const [to, expected] of [
      [last, contents],
      [visible, behind],
      [undefined, behind],
    ] as const) {
      const target = join(folder, `restored${to}`);
      await restoreStore(join(root, 'backups'), target, {
        ...(to === undefined ? {} : { to }),
        log: join(folder, 'archive'),
      });
      const copy = await openEmbedded(target, smallStore(new NodeFileSystem()));
      expect(await contentsOf(copy)).toEqual(expected);
      await copy.close();
    }
  } finally {
    calls.end();
    await engine.close();
  }
});
