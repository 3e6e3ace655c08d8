/**
 * Prints the files of `src` of which a function runs for one operation, by V8's coverage: what a reader has to look into to
 * follow it (docs/architecture.md, "Walks"). Every operation has run before, so that what is done once is not counted.
 *
 * `npx tsx test/bench/walks.ts`; with the name of an operation the files, in their alphabetical order.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Column, Entity, Index, open, part, RowKey, Table, text } from '../../src/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import { Get, Put, Scan, tableDescriptor } from '../../src/table/index.js';

@Table({ name: 'plain', families: { d: {} } })
class PlainTable {}

@Table({ name: 'indexed', families: { d: {} } })
class IndexedTable {}

@Entity({ table: PlainTable })
@RowKey(part('id', text))
class Plain {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name!: string;
}

@Entity({ table: IndexedTable })
@RowKey(part('id', text))
class Indexed {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byName: ['name'] };
  id!: string;
  @Index('byName') @Column('d:n', text) name!: string;
}

const session = new Session();

interface Walk {
  /** Before each run, and not counted. */
  readonly before?: () => unknown;
  readonly run: () => unknown;
}

/** Files of which a function runs in one run of an operation. */
async function filesOf({ before, run }: Walk): Promise<string[]> {
  for (let i = 0; i < 3; i++) {
    await before?.();
    await run();
  }
  await before?.();
  await session.post('Profiler.takePreciseCoverage');
  await run();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const files = new Set<string>();
  for (const { url, functions } of result) {
    const file = /\/(?:src|decorators)\/.*\.[jt]s$/.exec(url)?.[0];
    if (file === undefined || url.includes('/node_modules/')) continue;
    // What begins at 0 is the module's own code.
    if (functions.some(({ ranges: [whole] }) => whole!.startOffset > 0 && whole!.count > 0))
      files.add(file.slice(1));
  }
  return [...files].sort();
}

const folder = mkdtempSync(join(tmpdir(), 'rowan-walks-'));
const only = process.argv[2];
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
try {
  const database = await open({ path: join(folder, 'a'), entities: [Plain, Indexed], automatic: false });
  const engine = await openEmbedded(join(folder, 'b'), { background: 'inline', automatic: false });
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  const table = engine.table('t');
  const plain = database.repository(Plain);
  const indexed = database.repository(Indexed);
  const value = Buffer.from('v');
  let next = 0;
  const row = (): string => `row-${String(next++).padStart(6, '0')}`;
  const put = (): Promise<void> => table.put(new Put(row()).addColumn('f', 'q', value));
  const get = (): unknown => table.getSync(new Get('row-000001'));
  const scan = (): unknown => [...table.scanSync(new Scan().setLimit(20))];
  const flush = (): Promise<void> => engine.admin.flush('t');
  const walks: Record<string, Walk> = {
    put: { run: put },
    'get, memory': { run: get },
    'scan, memory': { run: scan },
    transaction: {
      run: () =>
        engine.transaction(async (transaction) => {
          transaction.table('t').getSync(new Get('row-000001'));
          await transaction.table('t').put(new Put(row()).addColumn('f', 'q', value));
        }),
    },
    flush: { before: put, run: flush },
    'get, file': { before: flush, run: get },
    'scan, file': { before: flush, run: scan },
    compaction: { before: () => put().then(flush), run: () => engine.admin.majorCompact('t') },
    'put of an entity': { run: () => plain.put({ id: row(), name: 'n' }) },
    'put of an entity with an index': { run: () => indexed.put({ id: row(), name: 'n' }) },
    'get of an entity': { run: () => plain.get({ id: 'row-000001' }) },
    'scan of entities': { run: () => plain.find({}, { fullScan: true }).limit(20).all() },
  };
  for (let i = 0; i < 5; i++) await put();
  for (const [name, walk] of Object.entries(walks)) {
    const files = await filesOf(walk);
    if (only === undefined) console.log(`${name}: ${files.length}`);
    else if (only === name) console.log(files.join('\n'));
  }
  await engine.close();
  await database.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
