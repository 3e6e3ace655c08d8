import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { toStringBinary } from '../../src/bytes/index.js';
import { restoreStore } from '../../src/store/backup.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import {
  type DirectoryLock,
  type FileHandle,
  type FileSystem,
  NodeFileSystem,
} from '../../src/store/fs/index.js';
import type { EmbeddedOptions } from '../../src/store/options.js';
import { Cell, CellType, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import type { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { digestOf, type Promised, STORE, smallStore } from './workload.js';

/**
 * A disk in memory that passes for the real one, as the archive of a log needs: the archive and the files that it copies are in a
 * folder of the real disk, so a loss of power takes from the store and leaves the archive as it is.
 */
export class ArchivedDisk extends NodeFileSystem {
  readonly archive: string;
  readonly store: string;

  constructor(
    private readonly root: string,
    private readonly memory: MemoryFileSystem,
    /** What the store uses: the memory, or that with faults. */
    private readonly used: FileSystem = memory,
  ) {
    super();
    this.archive = join(root, 'archive');
    this.store = this.absolute(STORE);
    mkdirSync(this.store, { recursive: true });
  }

  override absolute(path: string): string {
    return path.startsWith(this.root) ? path : join(this.root, path);
  }

  /** Begins an archive and makes the backup that restores begin with. */
  async begin(options: Partial<EmbeddedOptions>): Promise<void> {
    const engine = await openEmbedded(this.store, {
      ...smallStore(new NodeFileSystem(), options),
      logArchive: this.archive,
    });
    await engine.admin.createTable(tableDescriptor('begun', { f: {} }));
    await engine.backup(join(this.root, 'backups'));
    await engine.admin.disableTable('begun');
    await engine.admin.deleteTable('begun');
    await engine.close();
    this.memory.mkdir(this.store);
    for (const name of readdirSync(this.store))
      if (!/^(LOCK|ARCHIVE)/.test(name))
        this.memory.place(join(this.store, name), readFileSync(join(this.store, name)));
    // The folders themselves are safe.
    for (let folder = this.store; folder !== '/'; folder = dirname(folder))
      this.memory.syncDirectory(dirname(folder));
  }

  /** The store of `files`, as a loss of power left it, in a folder of its own beside a copy of the archive as it is now. */
  copyTo(folder: string, files: MemoryFileSystem): void {
    const store = join(folder, basename(this.store));
    copyFolder(files, this.store, store);
    const pointer = join(this.store, 'ARCHIVE');
    if (existsSync(pointer)) copyFileSync(pointer, join(store, 'ARCHIVE'));
    const archive = join(folder, 'archive');
    if (files.exists(this.archive)) copyFolder(files, this.archive, archive);
    else cpSync(this.archive, archive, { recursive: true, filter: (name) => !/LOCK/.test(name) });
  }

  /** Takes the archive into the memory, for `ArchiveCalls`. */
  archiveInMemory(): void {
    this.memory.mkdir(this.archive);
    for (const name of readdirSync(this.archive)) {
      if (name.startsWith('LOCK')) continue;
      this.memory.place(join(this.archive, name), readFileSync(join(this.archive, name)));
      rmSync(join(this.archive, name));
    }
    this.memory.syncDirectory(dirname(this.archive));
  }

  /**
   * Opens what `copyTo` made. Throws unless the store is in one of the promised states, and the archive then restores what it has, with
   * what is written after the crash.
   */
  async checkCopy(
    folder: string,
    { states, least, most }: Promised,
    options: Partial<EmbeddedOptions>,
  ): Promise<void> {
    const path = join(folder, basename(this.store));
    const archive = join(folder, 'archive');
    const open = {
      ...smallStore(new NodeFileSystem(), { automatic: false, ...options }),
      logArchive: archive,
    };
    let engine = await openEmbedded(path, open);
    try {
      const found = await digestOf(engine);
      if (!states.slice(least, most + 1).includes(found))
        throw new Error(
          `a state was found that is none of ${least} to ${most}:\n${found}\n--- expected\n${states[most]}`,
        );
      await engine.verify();
      await engine.close();
      engine = await openEmbedded(path, open);
      if (await engine.admin.tableExists('t'))
        await engine.table('t').put(new Put('after').addColumn('a', 'v', 'the crash'));
      const expected = await digestOf(engine);
      await engine.close();
      const target = join(folder, 'restored');
      const { encryption } = options;
      await restoreStore(join(this.root, 'backups'), target, {
        log: archive,
        ...(encryption === undefined ? {} : { encryption }),
      });
      engine = await openEmbedded(target, smallStore(new NodeFileSystem(), { automatic: false, ...options }));
      const restored = await digestOf(engine);
      if (restored !== expected)
        throw new Error(`the archive restores something else:\n${restored}\n--- expected\n${expected}`);
    } finally {
      await engine.close();
      rmSync(folder, { recursive: true });
    }
  }

  override hold(): this {
    return this;
  }

  override letGo(): void {}

  override openRead(path: string): FileHandle {
    return this.used.openRead(path);
  }

  override openAppend(path: string): FileHandle {
    return this.used.openAppend(path);
  }

  override create(path: string): FileHandle {
    const file = this.used.create(path);
    if (!path.endsWith('.sst') || dirname(path) !== this.store) return file;
    // A sorted file is put where the archive looks for it when it is complete.
    const close = file.close.bind(file);
    file.close = () => {
      close();
      if (this.memory.exists(path)) writeFileSync(path, this.memory.contents(path));
    };
    return file;
  }

  override mkdir(path: string): void {
    this.used.mkdir(path);
  }

  override readdir(path: string): string[] {
    return this.used.readdir(path);
  }

  override rename(from: string, to: string): void {
    this.used.rename(from, to);
  }

  override unlink(path: string): void {
    this.used.unlink(path);
    rmSync(path, { force: true });
  }

  override rmdir(path: string): void {
    this.used.rmdir(path);
  }

  override exists(path: string): boolean {
    return basename(path) === 'ARCHIVE' ? existsSync(path) : this.used.exists(path);
  }

  override isDirectory(path: string): boolean {
    return this.used.isDirectory(path);
  }

  override fileSize(path: string): number {
    return this.used.fileSize(path);
  }

  override link(existing: string, path: string): boolean {
    return this.used.link(existing, path);
  }

  override syncDirectory(path: string): void {
    this.used.syncDirectory(path);
  }

  override syncDirectoryAsync(path: string): Promise<void> {
    return this.used.syncDirectoryAsync(path);
  }

  override lock(directory: string): Promise<DirectoryLock> {
    return this.used.lock(directory);
  }

  override receive(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  override call(): Promise<'nobody'> {
    return Promise.resolve('nobody');
  }
}

/** Copies the files of a folder in memory to the real disk. */
function copyFolder(files: MemoryFileSystem, from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of files.readdir(from)) writeFileSync(join(to, name), files.contents(join(from, name)));
}

/** All tables of a store, with every cell that readers see. */
export async function contentsOf(engine: EmbeddedEngine): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = { namespaces: (await engine.admin.listNamespaces()).sort() };
  for (const { name, families } of await engine.admin.listTables()) {
    const cells: string[] = [];
    if (await engine.admin.isTableEnabled(name))
      for await (const { cells: row } of engine.table(name).scan(new Scan().readAllVersions()))
        for (const { row: key, family, qualifier, timestamp, value } of row)
          cells.push(
            `${toStringBinary(key)} ${family}:${toStringBinary(qualifier)} ${timestamp} ${toStringBinary(value)}`,
          );
    found[name] = { families: families.map((family) => family.name).sort(), cells };
  }
  return found;
}

/** Puts of the rows r0 to r19, whose values say the time. */
export function batchedPuts(time: number): Put[] {
  const value = `${time}`.repeat(5);
  return Array.from({ length: 20 }, (_, i) => new Put(`r${i}`).addColumn('f', 'b', value));
}

/** Cells of the rows r10 to r14 for a bulk load, whose values say the time. */
export function loadedCells(time: number): Cell[] {
  const [qualifier, value] = [Buffer.from('l'), Buffer.from(`load${time}`)];
  return Array.from(
    { length: 5 },
    (_, i) => new Cell(Buffer.from(`r1${i}`), 'f', qualifier, time, CellType.Put, value),
  );
}
