/**
 * `npm run bench:relations`: what relations, groups, copies and joins cost. An order with its customer and its lines against
 * the relations of Drizzle, TypeORM and MikroORM on better-sqlite3; a change of a source with its copies against the same
 * number of plain writes in one batch; a group-by against full scans of the same rows; a hash join of two tables against
 * gets. One disk; contestants take turns in every round; the figure is the median. A read's second is one of the
 * processor's, for none waits for the disk; joins run in processes of their own, whose memory is told.
 *
 * `--rounds N` (default 5), `--rows N` (rows of the group-by and of the join, default 1,000,000), `--only WORD` (rows of the
 * bench whose name has it: orders, copies, groups, joins), `--json FILE`.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { open } from '../../../src/index.js';
import { Scan } from '../../../src/public/table.js';
import {
  argument,
  type BenchRow,
  compare,
  type Measured,
  report,
  rowLine,
  type Seconds,
  toRow,
} from '../harness.js';
import { projectRoot } from '../orm/contestant.js';
import { Customer, Line, linesFrom, Plain, Product, Shipment } from './entities.js';
import { measureJoins } from './joins.js';
import { openOrders } from './orders.js';

const FAN_OUT = 10;
const SOURCES = 10;
const WRITES = 200;

const rounds = numberOf('--rounds', 5);
const rows = numberOf('--rows', 1_000_000);
const only = argument('--only') ?? '';
const measured: BenchRow[] = [];
const folder = mkdtempSync(join(projectRoot, '.rowan-bench-relations-'));
try {
  if ('orders'.includes(only)) await orders();
  if ('copies'.includes(only)) await copies();
  if ('groups'.includes(only)) await groups();
  if ('joins'.includes(only)) add(await measureJoins(folder, rows, rows / 10, Math.ceil(rounds / 2)));
  report(measured);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function numberOf(option: string, otherwise: number): number {
  return Number(argument(option) ?? otherwise);
}

function add(row: BenchRow): void {
  console.log(rowLine(row));
  measured.push(row);
}

async function row(
  title: string,
  unit: string,
  contestants: Record<string, Measured>,
  seconds: Seconds = 'processor',
): Promise<void> {
  add(toRow(title, unit, await compare(contestants, rounds, seconds)));
}

async function orders(): Promise<void> {
  const { contestants, close } = await openOrders(folder);
  await row('an order with its customer and 1,000 lines', 'orders/s', contestants);
  await close();
}

async function copies(): Promise<void> {
  const db = await open({ path: join(folder, 'copies'), entities: [Customer, Plain, Shipment] });
  const customers = db.repository(Customer);
  const plain = db.repository(Plain);
  await customers.putMany(Array.from({ length: SOURCES }, (_, i) => ({ id: `c${i}`, name: `Name ${i}` })));
  await db
    .repository(Shipment)
    .putMany(Array.from({ length: SOURCES * FAN_OUT }, (_, no) => ({ no, customerId: `c${no % SOURCES}` })));
  let change = 0;
  const contestants: Record<string, Measured> = {
    rowan: async () => {
      for (let i = 0; i < WRITES; i++) {
        await customers.put({ id: `c${i % SOURCES}`, name: `Name ${change++}` });
      }
      return WRITES;
    },
    'eleven plain writes in a batch': async () => {
      for (let i = 0; i < WRITES; i++) {
        const name = `Name ${change++}`;
        await plain.putMany(
          Array.from({ length: FAN_OUT + 1 }, (_, at) => ({
            no: (i % SOURCES) * (FAN_OUT + 1) + at,
            customerId: `c${i % SOURCES}`,
            name,
          })),
        );
      }
      return WRITES;
    },
  };
  await row(`a change of a source with ${FAN_OUT} copies`, 'changes/s', contestants, 'wall');
  await row(`a change of a source with ${FAN_OUT} copies, processor`, 'changes/s', contestants);
  await db.close();
}

async function groups(): Promise<void> {
  const db = await open({ path: join(folder, 'groups'), entities: [Line, Product] });
  const lines = db.repository(Line);
  for (let at = 0; at < rows; at += 5000) {
    await lines.putMany(linesFrom(0, at, Math.min(5000, rows - at)), { durability: 'ASYNC_WAL' });
  }
  await db.admin.flush('lines');
  const all = () => lines.find({}, { fullScan: true });
  await row(`a group-by over ${rows} rows`, 'rows/s', {
    rowan: async () => {
      const found = await all()
        .groupBy('product')
        .aggregate((on) => ({ sum: on.sum('quantity') }));
      if (found.length !== Math.min(97, rows)) throw new Error(`${found.length} groups`);
      return rows;
    },
    'a stream of the entities': async () => {
      let count = 0;
      for await (const _ of all()) count++;
      return count;
    },
    'a scan of the table, cell by cell': async () => {
      let count = 0;
      for await (const result of await db.engine.table('lines').scan(new Scan())) {
        if (result.cells.length > 0) count++;
      }
      return count;
    },
  });
  await db.close();
}
