/**
 * Writes to a store until it is killed: row mutations over two families, counters and atomic batches, many at a time.
 * One line on stdout for each that was acknowledged: "row <client> <n>.", "count <client> <n>.", "batch <client> <n>.".
 * Usage: kill-writer.ts <folder> <first number> <SYNC_WAL | ASYNC_WAL>
 */
import { openEmbedded } from '../../src/store/engine.js';
import { type Durability, Increment, Put, tableDescriptor } from '../../src/table/index.js';

const [folder, first, durability] = process.argv.slice(2) as [string, string, Durability];
const engine = await openEmbedded(folder, { memstoreFlushSize: 64 * 1024, walSegmentSize: 200_000 });
if (!(await engine.admin.tableExists('t')))
  await engine.admin.createTable(tableDescriptor('t', { a: { compression: 'GZ' }, b: {} }), [
    Buffer.from('row-4'),
  ]);
const table = engine.table('t');

const put = (row: string, value: string): Put =>
  new Put(row).addColumn('a', 'v', value).addColumn('b', 'v', value).setDurability(durability);

/** Pipes are written to at once, so a line is out before the next write begins. */
function tell(line: string): void {
  process.stdout.write(`${line}.\n`);
}

async function client(id: number): Promise<void> {
  for (let n = Number(first); ; n++) {
    const value = `${n} `.repeat(1 + ((n * 13) % 60));
    if (n % 10 === 3) {
      await table.batch([put(`batch-${id}-${n}-x`, value), put(`batch-${id}-${n}-y`, value)], {
        atomic: true,
      });
      tell(`batch ${id} ${n}`);
    } else if (n % 10 === 7) {
      await table.increment(new Increment(`count-${id}`).addColumn('b', 'c', 1).setDurability(durability));
      tell(`count ${id} ${n}`);
    } else {
      await table.put(put(`row-${id}-${n}`, value));
      tell(`row ${id} ${n}`);
    }
  }
}

tell('open');
await Promise.all(Array.from({ length: 8 }, (_, id) => client(id)));
