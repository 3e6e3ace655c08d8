/** A join of two whole tables, in a process of its own for each way of joining: rates, and the memory that it takes. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { open } from '../../../src/index.js';
import { type BenchRow, median, toRow } from '../harness.js';
import { Line, linesFrom, Product } from './entities.js';

interface Joined {
  readonly rows: number;
  readonly price: number;
  readonly seconds: number;
  readonly megabytes: number;
}

const PROGRAM = fileURLToPath(new URL('hash-join.js', import.meta.url));

export async function measureJoins(
  folder: string,
  lines: number,
  products: number,
  rounds: number,
): Promise<BenchRow> {
  const path = join(folder, 'joins');
  await fill(path, lines, products);
  const ways = { rowan: 'hash', 'by gets': 'lookup' } as const;
  const taken: Record<string, Joined[]> = {};
  for (let round = 0; round < rounds; round++) {
    for (const [name, way] of Object.entries(ways)) {
      taken[name] = [...(taken[name] ?? []), joined(path, way, lines)];
    }
  }
  const of = (figure: (one: Joined) => number) =>
    Object.fromEntries(Object.entries(taken).map(([name, list]) => [name, median(list.map(figure))]));
  const title = `a hash join of ${lines} x ${products} rows`;
  return {
    ...toRow(
      title,
      'rows/s',
      of(({ rows, seconds }) => rows / seconds),
    ),
    megabytes: of(({ megabytes }) => megabytes),
  };
}

async function fill(path: string, lines: number, products: number): Promise<void> {
  const db = await open({ path, entities: [Line, Product] });
  const productOf = (of: number): string => `product ${(of * 7919) % products}`;
  for (let at = 0; at < products; at += 5000) {
    await db.repository(Product).putMany(
      Array.from({ length: Math.min(5000, products - at) }, (_, i) => ({
        name: `product ${at + i}`,
        price: at + i,
      })),
      { durability: 'ASYNC_WAL' },
    );
  }
  for (let at = 0; at < lines; at += 5000) {
    await db
      .repository(Line)
      .putMany(linesFrom(0, at, Math.min(5000, lines - at), productOf), { durability: 'ASYNC_WAL' });
  }
  for (const table of ['products', 'lines']) await db.admin.flush(table);
  await db.close();
}

function joined(path: string, way: 'hash' | 'lookup', lines: number): Joined {
  const { stdout, stderr, status } = spawnSync(process.execPath, [PROGRAM, path, way], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the join by ${way} failed: ${stderr}`);
  const result = JSON.parse(stdout) as Joined;
  if (result.rows !== lines || !Number.isFinite(result.price)) {
    throw new Error(`the join by ${way} gave ${stdout}`);
  }
  return result;
}
