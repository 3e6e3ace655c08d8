/** Jobs whose rows threads read do what they do without, whatever is written beside; and they go on when a thread ends. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Column, Entity, Index, part, RowKey } from '../../../decorators/index.js';
import { int32, text } from '../../../src/codec/index.js';
import { type Database, open } from '../../../src/database.js';
import { uint32 } from '../../../src/key/index.js';
import { countRows } from '../../../src/public/jobs.js';
import type { EmbeddedEngine } from '../../../src/store/engine.js';
import { Delete, Put, Scan } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';

@Entity({ table: { name: 'parcels', families: { d: {} } } })
@RowKey(part('no', uint32))
@Index('byStreet', [part('street')], { include: ['weight'] })
// Of the same entries, which no fast path computes: the condition holds for every row that has a street.
@Index('byStreetAsked', [part('street')], { include: ['weight'], where: { street: { ne: 'none' } } })
class Parcel {
  declare static readonly key: ['no'];
  declare static readonly indexes: { byStreet: ['street']; byStreetAsked: ['street'] };
  no!: number;
  @Column('d:s', text) street?: string | null;
  @Column('d:w', int32) weight?: number | null;
}

type Store = Database & { readonly engine: EmbeddedEngine };

async function withStore(body: (db: Store) => Promise<void>, workerPath?: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-threads-'));
  const options = { durability: 'ASYNC_WAL', ...(workerPath && { workerPath }) } as const;
  const db = await open({ path: join(folder, 'store'), entities: [Parcel], ...options });
  try {
    await body(db as Store);
  } finally {
    await db.close();
    rmSync(folder, { recursive: true });
  }
}

const parcels = fc.uniqueArray(
  fc.record({
    no: fc.nat(2000),
    street: fc.option(fc.constantFrom('a', 'b', 'c\0d', '')),
    weight: fc.option(fc.integer({ min: -9, max: 9 })),
  }),
  { selector: ({ no }) => no, maxLength: 200 },
);

/** The sum of the weights of each street. */
async function sums(db: Database, threads: number): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  await db
    .job('sums')
    .from(db.repository(Parcel).find({}, { fullScan: true }))
    .map<string, number>(({ street, weight }, emit) => emit(street ?? 'none', weight ?? 0))
    .reduce((street, weights) => ({ street, sum: weights.reduce((sum, weight) => sum + weight, 0) }))
    .to({
      signature: 'sums',
      open: () => ({ write: (all) => all.forEach(({ street, sum }) => found.set(street, sum)) }),
    })
    .run({ restart: true, threads, batchRows: 50, checkpointRows: 100 });
  return new Map([...found].sort());
}

it('random tables of several regions have the same sums, numbers of rows, entries and reports', () =>
  withStore(async (db) => {
    const repository = db.repository(Parcel);
    const { engine } = db;
    await fc.assert(
      fc.asyncProperty(parcels, parcels, fc.integer({ min: 2, max: 4 }), async (first, then, threads) => {
        await repository.putMany(first);
        await engine.admin.flush('parcels');
        await repository.putMany(then);
        await repository.deleteMany(first.filter((_, i) => i % 3 === 0).map(({ no }) => ({ no })));
        expect(await sums(db, threads)).toEqual(await sums(db, 1));
        const rows = await repository.find({}, { fullScan: true }).count();
        const { counters } = await countRows(engine, 'parcels', { run: { threads } });
        expect(counters['rows'] ?? 0).toBe(rows);
        for (const name of ['byStreet', 'byStreetAsked'] as const) {
          const index = db.index(Parcel, name);
          await index.drop();
          expect((await index.build({ threads })).rows).toBe(rows);
        }
        await damage(engine);
        const reports: object[] = [];
        for (const name of ['byStreet', 'byStreetAsked'] as const) {
          const index = db.index(Parcel, name);
          for (const run of [{}, { threads }]) reports.push(await index.verify({ run }));
          // Of the rows; the entries of the two indexes are in other samples.
          const { rows: read, valid, missing } = await index.verify({ sample: 0.5 });
          reports.push({ read, valid, missing });
          await index.repair({ run: { threads } });
          expect(await index.verify()).toMatchObject({ missing: 0, stale: 0, extra: 0 });
        }
        expect(reports.slice(3)).toEqual(reports.slice(0, 3));
        expect(reports[1]).toEqual(reports[0]);
      }),
      { numRuns: scaled(1, 20, 300) },
    );
    await engine.admin.split('parcels', Uint8Array.of(0, 0, 4, 0));
    expect(await sums(db, 2)).toEqual(await sums(db, 1));
  }));

/** Removes and changes entries of both indexes, and rows, past the repository. */
async function damage(engine: EmbeddedEngine): Promise<void> {
  const entries = engine.table('parcels_idx');
  const found = await entries.scan(new Scan()).nextBatch(10_000);
  const half = found.length / 2;
  for (const [i, { row }] of found.entries()) {
    if (i % half === 1) await entries.delete(new Delete(row));
    if (i % half === 3) await entries.put(new Put(row).addColumn('i', '_', Uint8Array.of(1, 0)));
  }
  const rows = await engine.table('parcels').scan(new Scan()).nextBatch(10_000);
  if (rows.length > 4) {
    await engine.table('parcels').delete(new Delete(rows[2]!.row));
    await engine.table('parcels').put(new Put(rows[4]!.row).addColumn('d', 's', 'elsewhere'));
  }
}

it('an index that is built by threads has what is written meanwhile', () =>
  withStore(async (db) => {
    const repository = db.repository(Parcel);
    const count = scaled(400, 20_000, 100_000);
    await repository.putMany(
      Array.from({ length: count }, (_, no) => ({ no, street: `s${no % 97}`, weight: no })),
    );
    const index = db.index(Parcel, 'byStreet');
    await index.drop();
    let writing = true;
    const writes = (async () => {
      for (let i = 0; writing; i++) {
        await repository.put({ no: (i * 7919) % count, street: `t${i % 5}` });
        await repository.delete({ no: (i * 6007) % count });
        if (i % 50 === 0) await db.engine.admin.flush('parcels');
      }
    })();
    await index.build({ threads: 2, splitBytes: 20_000 });
    writing = false;
    await writes;
    const report = await index.verify();
    expect(report).toMatchObject({ missing: 0, stale: 0, extra: 0 });
    expect(report.valid).toBe(report.rows);
  }));

it('a split whose thread ends is read again, by another', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-threads-'));
  const [workerPath, died] = [join(folder, 'worker.mjs'), join(folder, 'died')];
  const real = new URL('../../../dist/rowan-worker.js', import.meta.url);
  writeFileSync(
    workerPath,
    `import { existsSync, writeFileSync } from 'node:fs';
     import { parentPort } from 'node:worker_threads';
     if (existsSync(${JSON.stringify(died)})) await import(${JSON.stringify(real.href)});
     else parentPort.on('message', (message) => {
       if (!('part' in message)) return;
       writeFileSync(${JSON.stringify(died)}, '');
       process.exit(1);
     });`,
  );
  try {
    await withStore(async (db) => {
      await db
        .repository(Parcel)
        .putMany(Array.from({ length: 500 }, (_, no) => ({ no, street: 'a', weight: 1 })));
      expect(await sums(db, 2)).toEqual(new Map([['a', 500]]));
      expect(existsSync(died)).toBe(true);
    }, workerPath);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('an abort, and the close of the store, end a job and its scans; a job goes on behind its checkpoint', () =>
  withStore(async (db) => {
    const { engine } = db;
    await db.repository(Parcel).putMany(Array.from({ length: 400 }, (_, no) => ({ no, street: 'a' })));
    const job = (during: () => void) =>
      db
        .job('ends')
        .from(db.repository(Parcel).find({}, { fullScan: true }))
        .map(({ no }, _emit, context) => {
          context.count('rows');
          if (no === 100) during();
        });
    const abort = new AbortController();
    const options = { threads: 2, batchRows: 10, checkpointRows: 10 };
    await expect(job(() => abort.abort()).run({ ...options, signal: abort.signal })).rejects.toMatchObject({
      code: 'ERR_ABORTED',
    });
    expect(engine.stats().openScanners).toBe(0);
    const { resumed, counters } = await job(() => {}).run(options);
    expect({ resumed, counters }).toEqual({ resumed: true, counters: { rows: 400 } });
    let closed: Promise<void> | undefined;
    const close = () => {
      closed = db.close();
    };
    await expect(job(close).run({ ...options, restart: true })).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    await closed;
  }));

it('threads is a whole number from 1 on', () =>
  withStore(async (db) => {
    await expect(sums(db, 1.5)).rejects.toThrow(/threads of a job must be a whole number of at least 1/);
  }));
