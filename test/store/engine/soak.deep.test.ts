import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import { Delete, Get, Increment, Put, Scan, tableDescriptor } from '../../../src/table/index.js';
import { record } from '../../proof/evidence.js';
import { randomOf } from './script.js';
import { withFolder } from './support.js';

/** ROWAN_SOAK_MINUTES=3 for a shorter one. */
const MINUTES = Number(process.env['ROWAN_SOAK_MINUTES'] ?? 30);
const ROWS = 20_000;
const CLIENTS = 16;

interface Sample {
  readonly heap: number;
  readonly resident: number;
  readonly descriptors: number;
  readonly disk: number;
}

function sample(folder: string): Sample {
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  const sizes = readdirSync(folder).map(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0,
  );
  return {
    heap: heapUsed,
    resident: rss,
    descriptors: readdirSync('/proc/self/fd').length,
    disk: sizes.reduce((sum, size) => sum + size, 0),
  };
}

/** The middle of what was measured in a third of the time. */
function middle(samples: readonly Sample[], third: number, of: keyof Sample): number {
  const size = Math.floor(samples.length / 3);
  const values = samples.slice(third * size, (third + 1) * size).map((each) => each[of]);
  return values.sort((a, b) => a - b)[values.length >> 1]!;
}

it('a mixed load leaves heap, memory, descriptors and disk as they were', async () => {
  await withFolder(async (folder) => {
    const engine = await openEmbedded(join(folder, 'db'), {
      durability: 'ASYNC_WAL',
      memstoreFlushSize: 2 << 20,
      memstoreLimit: 16 << 20,
      blockCacheSize: 8 << 20,
      walSegmentSize: 2 << 20,
    });
    await engine.admin.createTable(tableDescriptor('t', { a: { compression: 'LZ4' }, b: {} }), [
      Buffer.from('5'),
    ]);
    const table = engine.table('t');
    const end = performance.now() + MINUTES * 60_000;
    let operations = 0;
    const client = async (seed: number): Promise<void> => {
      const random = randomOf(seed);
      while (performance.now() < end) {
        const row = String(random(ROWS));
        const dice = random(10);
        if (dice < 4) await table.put(new Put(row).addColumn('a', 'v', 'x'.repeat(random(400))));
        else if (dice < 5) await table.increment(new Increment(`n${row}`).addColumn('b', 'n', 1));
        else if (dice < 6) await table.delete(new Delete(row));
        else if (dice < 9) await table.get(new Get(row));
        else for await (const _ of table.scan(new Scan().withStartRow(row).setLimit(50))) operations++;
        operations++;
        if (random(50) === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const samples: Sample[] = [];
    const watch = async (): Promise<void> => {
      while (performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, (MINUTES * 60_000) / 120));
        samples.push(sample(join(folder, 'db')));
      }
    };
    await Promise.all([watch(), ...Array.from({ length: CLIENTS }, (_, seed) => client(seed))]);
    await engine.verify();
    await engine.close();
    // The first third fills caches and the table; then everything is to stay.
    const growth = (of: keyof Sample): number => middle(samples, 2, of) / middle(samples, 1, of) - 1;
    const percents = Object.fromEntries(
      (['heap', 'resident', 'descriptors', 'disk'] as const).map((of) => [of, growth(of) * 100]),
    );
    for (const [of, percent] of Object.entries(percents)) expect(percent, of).toBeLessThan(20);
    record('soak', { minutes: MINUTES, operations });
  });
});
