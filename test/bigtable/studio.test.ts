/** The studio on Bigtable: its pages' requests are answered, with rows, versions and regions. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectBigtable } from '../../src/database/bigtable.js';
import type { Database } from '../../src/database.js';
import type { Catalog, RowPage, SchemaReport } from '../../src/studio/server/api.js';
import { type Studio, startStudio } from '../../src/studio/server/server.js';
import { ask, enter } from '../studio/client.js';
import { Customer, fill, Order } from '../studio/entities.js';
import { freshInstance } from './connect.js';

const COUNT = 20;

let db: Database;
let studio: Studio;
let cookie: string;

beforeAll(async () => {
  const instance = freshInstance();
  db = await connectBigtable({ ...instance, entities: [Customer, Order], tables: 'create' });
  await fill(db, COUNT);
  studio = await startStudio(db, { place: `bigtable:${instance.projectId}/${instance.instanceId}` });
  cookie = await enter(studio);
});
afterAll(async () => {
  await studio?.close();
  await db?.close();
});

async function api<T>(route: string, given: Record<string, string> = {}): Promise<T> {
  const { status, text } = await ask(studio, `/api/${route}?${new URLSearchParams(given)}`, { cookie });
  expect(`${status} ${status === 200 ? '' : text}`).toBe('200 ');
  return JSON.parse(text) as T;
}

it('shows the catalog, the schema without open steps, regions and health', async () => {
  const catalog = await api<Catalog>('catalog');
  expect(catalog.engine).toBe('bigtable');
  expect(catalog.entities.map(({ name }) => name).sort()).toEqual(['Customer', 'Order']);
  expect((await api<SchemaReport>('schema')).steps).toBe(0);
  for (const route of ['health', 'counters', 'regions', 'queries']) await api(route, { table: 'shop:crm' });
});

it('reads rows page by page, by an index too', async () => {
  const found = new Set<string>();
  let cursor: string | null = null;
  do {
    const page: RowPage = await api<RowPage>('rows', {
      entity: 'Customer',
      q: JSON.stringify({ index: 'byCity', key: { city: 'Uppsala' } }),
      size: '4',
      ...(cursor !== null && { cursor }),
    });
    for (const row of page.rows) found.add(JSON.stringify(row));
    cursor = page.cursor;
  } while (cursor !== null);
  const wanted = await db.repository(Customer).by('byCity').find({ city: 'Uppsala' }).all();
  expect(found.size).toBe(wanted.length);
  expect(found.size).toBeGreaterThan(COUNT / 3);
});
