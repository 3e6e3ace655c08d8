import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import type { ServeOptions } from '../../src/server/options.js';
import { type StoreServer, serve } from '../../src/server/server.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import type { EmbeddedOptions } from '../../src/store/options.js';
import { Put, tableDescriptor } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { FaultFileSystem } from '../store/fs/fault-fs.js';

/** A store in memory that is served in this process, and ended with the scope. */
export class Served implements AsyncDisposable {
  private readonly engines: HBaseEngine[] = [];

  private constructor(
    readonly disk: MemoryFileSystem,
    readonly store: EmbeddedEngine,
    readonly server: StoreServer,
  ) {}

  static async start(
    options: ServeOptions = {},
    { disk = new MemoryFileSystem(), ...store }: EmbeddedOptions & { disk?: MemoryFileSystem } = {},
  ): Promise<Served> {
    const opened = await openEmbedded('/store', { fileSystem: disk, automatic: false, ...store });
    return new Served(disk, opened, await serve(opened, { listen: '127.0.0.1:0', ...options }));
  }

  get endpoint(): string {
    return this.server.endpoint;
  }

  async connect(options: HBaseOptions = {}): Promise<HBaseEngine> {
    const given = { masters: [this.endpoint], user: 'test', pause: 10, retries: 3, ...options };
    const engine = await connectHBase(given);
    this.engines.push(engine);
    return engine;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const engine of this.engines) await engine.close();
    await this.server.close();
    await this.store.close();
  }
}

/** A served store with the table "t" and its row "before", whose next sync of the log fails. */
export async function servedWithFailingLog(options: ServeOptions = {}): Promise<Served> {
  const disk = new MemoryFileSystem();
  const files = new FaultFileSystem(disk);
  const served = await Served.start(options, { disk, fileSystem: files });
  await served.store.admin.createTable(tableDescriptor('t', { f: {} }));
  await served.store.table('t').put(new Put('before').addColumn('f', 'q', 'v'));
  files.inject({ calls: ['sync'], path: /wal$/ });
  return served;
}

/** Ends a server and its store, whose log is lost, without the error of that. */
export async function endWithLostLog(served: Served): Promise<void> {
  await served[Symbol.asyncDispose]().catch(() => undefined);
}
