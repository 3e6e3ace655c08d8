/**
 * Writes rows that each name one whose write was acknowledged before, until it is killed or has written all. Its lines:
 * "open.", "begun <last number>." before a group of rows is written, "done <last number>." after.
 * Usage: list-writer.ts <folder> <first number> <end> <a number that is there, or -1>
 */
import { openEmbedded } from '../../src/store/engine.js';
import { Put, tableDescriptor } from '../../src/table/index.js';
import { GROUP, rowOf } from './list-rows.js';

const [folder, first, end, there] = process.argv.slice(2) as [string, string, string, string];
const engine = await openEmbedded(folder, {
  memstoreFlushSize: 1 << 20,
  walSegmentSize: 1 << 20,
  maxFileSize: 8 << 20,
});
if (!(await engine.admin.tableExists('t')))
  await engine.admin.createTable(tableDescriptor('t', { f: { compression: 'LZ4' } }));
const table = engine.table('t');
process.stdout.write('open.\n');

let next = Number(first);
/** A row that is there for certain; before there is one, rows name themselves. */
let known = Number(there);

async function client(): Promise<void> {
  while (next < Number(end)) {
    const from = next;
    const last = from + GROUP - 1;
    next += GROUP;
    process.stdout.write(`begun ${last}.\n`);
    const puts: Put[] = [];
    for (let id = from; id <= last; id++)
      puts.push(new Put(rowOf(id)).addColumn('f', 'before', String(known < 0 ? id : known)));
    await table.putAll(puts);
    process.stdout.write(`done ${last}.\n`);
    known = from;
  }
}

await Promise.all(Array.from({ length: 6 }, client));
await engine.close();
process.stdout.write('end.\n');
