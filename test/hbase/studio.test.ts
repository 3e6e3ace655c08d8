/** The studio on a real HBase answers what it answers on the embedded engine: catalog, keys, rows, raw rows, regions. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Database } from '../../src/database.js';
import type {
  Catalog,
  EntityInfo,
  HeatMap,
  Planned,
  Question,
  RowDetail,
  RowPage,
  RowShown,
} from '../../src/studio/server/api.js';
import { type Studio, startStudio } from '../../src/studio/server/server.js';
import { openMemory } from '../../src/testing/index.js';
import { ask, enter } from '../studio/client.js';
import { Customer, fill, HOSTILE, Order } from '../studio/entities.js';
import { sharedHBase } from './connect.js';

const ENTITIES = [Customer, Order] as const;

/** A studio, and what it answers. */
class Asked {
  private constructor(
    readonly db: Database,
    private readonly studio: Studio,
    private readonly cookie: string,
  ) {}

  static async of(db: Database): Promise<Asked> {
    await fill(db, 40);
    const studio = await startStudio(db);
    return new Asked(db, studio, await enter(studio));
  }

  async api<T>(route: string, given: Record<string, string> = {}): Promise<T> {
    const { status, text } = await ask(this.studio, `/api/${route}?${new URLSearchParams(given)}`, {
      cookie: this.cookie,
    });
    expect([status, status === 200 ? '' : text]).toEqual([200, '']);
    return JSON.parse(text) as T;
  }

  async close(): Promise<void> {
    await this.studio.close();
    await this.db.close();
  }
}

let hbase: Asked;
let memory: Asked;

beforeAll(async () => {
  const db = await connect({ masters: sharedHBase().masters, entities: ENTITIES, tables: 'create' });
  hbase = await Asked.of(db);
  memory = await Asked.of(await openMemory({ entities: ENTITIES }));
});

afterAll(async () => {
  await memory?.close();
  if (hbase === undefined) return;
  for (const table of ['shop:crm', 'shop:crm_idx']) {
    await hbase.db.admin.disableTable(table);
    await hbase.db.admin.deleteTable(table);
  }
  await hbase.close();
});

/** A row without the times at which it was written. */
function timeless({ row, entity, values, problem, cells }: RowShown): object {
  const plain = Object.entries(values).map(([name, { type, value }]) => [name, type, value]);
  const stored = cells?.map(({ family, qualifier, type, value }) => [family, qualifier, type, value]);
  // The shadow of a row tells writers on HBase apart; the embedded engine has none.
  const own = stored?.filter(([, qualifier]) => qualifier !== '_x');
  return { row, entity, plain, problem: problem !== undefined, ...(own !== undefined && { own }) };
}

/** What of a plan no engine changes. */
function shapeOf({ explanation }: Planned): object {
  const { kind, fanOut, ranges } = explanation as Readonly<Record<string, unknown>>;
  return { kind, fanOut, ranges };
}

async function both<T>(ask: (studio: Asked) => Promise<T>): Promise<readonly [T, T]> {
  return [await ask(hbase), await ask(memory)];
}

test('the catalog has the same tables, families, entities, keys, columns and indexes', async () => {
  const plain = async (studio: Asked) => {
    const { tables, entities } = await studio.api<Catalog>('catalog');
    const own = tables.filter(({ name }) => name.startsWith('shop:'));
    return {
      entities: entities.map(({ name, parts, columns, indexes, relations }: EntityInfo) => ({
        name,
        parts,
        columns,
        indexes,
        relations,
      })),
      tables: own.map(({ name, kind, families }) => ({
        name,
        kind,
        families: families.map(({ name: family, maxVersions, timeToLive }) => ({
          family,
          maxVersions,
          timeToLive,
        })),
      })),
    };
  };
  const [found, expected] = await both(plain);
  expect(found).toEqual(expected);
  expect(found.tables.map(({ name }) => name)).toContain('shop:crm');
});

test('regions are those of the cluster, with their start keys', async () => {
  const [found, expected] = await both((studio) =>
    studio.api<{ start: string; end: string }[]>('regions', { table: 'shop:crm' }),
  );
  expect(found.map(({ start, end }) => [start, end])).toEqual(expected.map(({ start, end }) => [start, end]));
});

const QUESTIONS: readonly (readonly [string, string, Question])[] = [
  ['all of an entity', 'Customer', {}],
  ['backward', 'Customer', { reverse: true }],
  ['a range over all salts', 'Customer', { key: { id: { gte: 'c00001', lt: 'c00003' } } }],
  ['one key', 'Order', { key: { id: 'c000007', at: '2026-01-02T00:00:00Z' } }],
  ['a prefix', 'Order', { key: { id: 'c000003' } }],
  ['a condition', 'Customer', { where: [{ property: 'city', operator: 'eq', value: 'Lund' }] }],
  ['an index', 'Customer', { index: 'byCity', key: { city: 'Uppsala' } }],
  ['hostile content', 'Customer', { key: { id: HOSTILE } }],
];

describe('what is asked for', () => {
  test.each(QUESTIONS)('%s: the same plan and the same rows', async (_, entity, question) => {
    const q = JSON.stringify(question);
    const [plan, expectedPlan] = await both((studio) => studio.api<Planned>('plan', { entity, q }));
    expect(plan.pieces).toEqual(expectedPlan.pieces);
    expect(plan.refused).toEqual(expectedPlan.refused);
    expect(plan.code).toBe(expectedPlan.code);
    expect(shapeOf(plan)).toEqual(shapeOf(expectedPlan));
    const [page, expectedPage] = await both((studio) =>
      studio.api<RowPage>('rows', { entity, q, size: '500' }),
    );
    expect(page.rows.map(timeless)).toEqual(expectedPage.rows.map(timeless));
    expect(page.rows.length).toBeGreaterThan(0);
  });
});

test('a table has the same rows in key order, decoded and as HBase has them', async () => {
  for (const raw of ['0', '1']) {
    const [page, expected] = await both((studio) =>
      studio.api<RowPage>('table', { table: 'shop:crm', size: '1000', raw }),
    );
    expect(page.rows.map(({ row }) => row)).toEqual(expected.rows.map(({ row }) => row));
    expect(page.rows.map(timeless)).toEqual(expected.rows.map(timeless));
  }
});

test('a row shows the versions of its cells, and a row that cannot be decoded its reason', async () => {
  const row = Buffer.from(hbase.db.repository(Customer).schema.key.encode({ id: 'c000001' })).toString('hex');
  const [found, expected] = await both((studio) => studio.api<RowDetail>('row', { table: 'shop:crm', row }));
  const names = ({ cells }: RowDetail) =>
    cells.filter(({ property }) => property === 'name').map(({ decoded }) => decoded?.value);
  expect(names(found)).toEqual(['Another name', 'Name 1']);
  expect(names(found)).toEqual(names(expected));
  const stranger = Buffer.from('no such row').toString('hex');
  const { row: shown } = await hbase.api<RowDetail>('row', { table: 'shop:crm', row: stranger });
  expect(shown.problem).toBe('No declared key has these bytes.');
});

test('the heat map counts the same rows', async () => {
  const [found, expected] = await both((studio) => studio.api<HeatMap>('heat', { entity: 'Order' }));
  expect(found).toEqual(expected);
});
