/**
 * Writes rows to a store from eight clients while it is flushed, merged and split, and closes it. What is acknowledged is
 * noted in the file "acks" beside the store, where it comes in order with the system calls: "<row>\n". A client whose
 * write is refused stops; other errors than Rowan's end the process with 1.
 * Usage: writer.ts <folder> <first number> <rows of each client>
 */
import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { RowanError } from '../../../src/errors.js';
import { openEmbedded } from '../../../src/store/engine.js';
import { Put, tableDescriptor } from '../../../src/table/index.js';

const [folder, first, rows] = process.argv.slice(2) as [string, string, string];
const acks = openSync(join(folder, 'acks'), 'a');

function expectTyped(error: unknown): void {
  if (error instanceof RowanError) return;
  console.error(error);
  process.exit(1);
}

try {
  const engine = await openEmbedded(join(folder, 'db'), {
    memstoreFlushSize: 4000,
    walSegmentSize: 9000,
    maxWalSegments: 3,
    maxFileSize: 20_000,
  });
  try {
    if (!(await engine.admin.tableExists('t')))
      await engine.admin.createTable(tableDescriptor('t', { a: { compression: 'GZ' }, b: {} }));
    const table = engine.table('t');
    const client = async (id: number): Promise<void> => {
      for (let n = Number(first); n < Number(first) + Number(rows); n++) {
        const row = `row-${id}-${n}`;
        const value = `${row} ${'x'.repeat((n * 37) % 300)}`;
        await table.put(new Put(row).addColumn('a', 'v', value).addColumn('b', 'v', value));
        writeSync(acks, `${row}\n`);
        if (n % 9 === id) await (n % 2 === 0 ? engine.admin.flush('t', 'a') : engine.admin.compact('t'));
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: 8 }, (_, id) => client(id)));
    for (const end of ends) if (end.status === 'rejected') expectTyped(end.reason);
  } finally {
    await engine.close();
  }
} catch (error) {
  expectTyped(error);
}
