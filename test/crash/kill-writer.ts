/**
 * Writes to a store until it is killed, from eight clients. One line on stdout for each write that was acknowledged:
 * "row <client> <n>.", "count <client> <n>.", "batch <client> <n>."; before them "begin." and, once open, "open.".
 * Usage: kill-writer.ts <folder> <first number> <SYNC_WAL | ASYNC_WAL> <puts | counters | batches | files> [milliseconds between writes]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbedded } from '../../src/store/engine.js';
import {
  Cell,
  CellType,
  type Durability,
  Increment,
  Put,
  RowMutations,
  tableDescriptor,
} from '../../src/table/index.js';

type Kind = 'row' | 'count' | 'batch' | 'change' | 'load';

/** What each workload writes, in turn. `files` is flushed, merged and split all the time, too. */
const WORKLOADS: Readonly<Record<string, readonly Kind[]>> = {
  puts: ['row'],
  counters: ['count', 'count', 'row'],
  batches: ['batch', 'change', 'row', 'batch', 'count'],
  files: ['row', 'load', 'batch', 'row', 'change', 'count', 'row'],
};

const [folder, first, durability, workload, pause] = process.argv.slice(2) as [
  string,
  string,
  Durability,
  string,
  string | undefined,
];
const kinds = WORKLOADS[workload]!;
const small = workload === 'files' ? 8 : 1;

/** Pipes are written to at once, so a line is out before the next write begins. */
function tell(line: string): void {
  process.stdout.write(`${line}.\n`);
}

tell('begin');
const engine = await openEmbedded(folder, {
  memstoreFlushSize: (64 * 1024) / small,
  walSegmentSize: 200_000 / small,
  maxFileSize: workload === 'files' ? 300_000 : 1e9,
});
if (!(await engine.admin.tableExists('t')))
  await engine.admin.createTable(tableDescriptor('t', { a: { compression: 'GZ' }, b: {} }), [
    Buffer.from('row-4'),
  ]);
const table = engine.table('t');

const put = (row: string, value: string): Put =>
  new Put(row).addColumn('a', 'v', value).addColumn('b', 'v', value).setDurability(durability);

async function write(kind: Kind, id: number, n: number, value: string): Promise<void> {
  if (kind === 'row') await table.put(put(`row-${id}-${n}`, value));
  if (kind === 'change') {
    const row = `row-${id}-${n}`;
    await table.mutateRow(
      new RowMutations(row).add(
        new Put(row).addColumn('a', 'v', value).setDurability(durability),
        new Put(row).addColumn('b', 'v', value).setDurability(durability),
      ),
    );
  }
  if (kind === 'count')
    await table.increment(new Increment(`count-${id}`).addColumn('b', 'c', 1).setDurability(durability));
  if (kind === 'batch')
    await table.batch([put(`batch-${id}-${n}-x`, value), put(`batch-${id}-${n}-y`, value)], { atomic: true });
  if (kind === 'load') {
    const row = Buffer.from(`row-${id}-${n}`);
    const cell = (family: string): Cell =>
      new Cell(row, family, Buffer.from('v'), n, CellType.Put, Buffer.from(value));
    await engine.bulkLoad('t', [cell('a'), cell('b')]);
  }
}

async function client(id: number): Promise<void> {
  for (let n = Number(first); ; n++) {
    const kind = kinds[n % kinds.length]!;
    await write(kind, id, n, `${n} `.repeat(1 + ((n * 13) % 60)));
    tell(`${kind === 'change' || kind === 'load' ? 'row' : kind} ${id} ${n}`);
    if (pause !== undefined) await sleep(Number(pause));
  }
}

async function operator(): Promise<void> {
  const { admin } = engine;
  for (let n = 0; ; n++) {
    await [() => admin.flush('t'), () => admin.compact('t'), () => admin.majorCompact('t', 'b')][n % 3]!();
    if (n % 7 === 6 && (await admin.getRegions('t')).length < 12) await admin.split('t');
  }
}

tell('open');
const clients = Array.from({ length: 8 }, (_, id) => client(id));
await Promise.all(workload === 'files' ? [...clients, operator()] : clients);
