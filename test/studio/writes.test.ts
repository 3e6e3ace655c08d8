import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bytes, int64 } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import type {
  HealthInfo,
  HeatMap,
  IndexProgress,
  LiveChange,
  SavedQuery,
  WriteAsked,
  WriteDone,
  WritePlanned,
} from '../../src/studio/server/api.js';
import { literal, typedFor } from '../../src/studio/server/questions.js';
import type { Studio } from '../../src/studio/server/server.js';
import { Delete, Get, Put, Scan } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';
import { type Answer, ask, enter } from './client.js';
import { Buyer, fillShop, PICTURE, Sale } from './shop.js';

const folder = mkdtempSync(join(tmpdir(), 'rowan-studio-test-'));
const file = join(folder, 'queries.json');

let db: Database;
let studio: Studio;
let cookie: string;

const own = (): Record<string, string> => ({
  cookie,
  origin: `http://127.0.0.1:${studio.port}`,
  'content-type': 'application/json',
});

const post = (route: string, body: unknown, headers = own()): Promise<Answer> =>
  ask(studio, `/api/${route}`, headers, 'POST', JSON.stringify(body));

async function posted<T>(route: string, body: unknown): Promise<T> {
  const { status, text } = await post(route, body);
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  return JSON.parse(text) as T;
}

async function got<T>(route: string, given: Record<string, string> = {}): Promise<T> {
  const { status, text } = await ask(studio, `/api/${route}?${new URLSearchParams(given)}`, { cookie });
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  return JSON.parse(text) as T;
}

const hexOf = (id: string): string =>
  Buffer.from(db.repository(Buyer).schema.key.encode({ id })).toString('hex');

async function made(write: WriteAsked): Promise<WriteDone> {
  const { confirm, seen } = await posted<WritePlanned>('write/plan', { write });
  return posted<WriteDone>('write/make', { write, confirm, seen });
}

beforeAll(async () => {
  db = await openMemory({ entities: [Buyer, Sale] });
  await fillShop(db, 90);
  studio = await db.studio({ write: true, queries: file });
  cookie = await enter(studio);
});

afterAll(async () => {
  await studio.close();
  await db.close();
  rmSync(folder, { recursive: true });
});

describe('a write', () => {
  test('reads what was typed as its column stores it', async () => {
    const at = async (text: string): Promise<string> => {
      const write = { entity: 'Sale', operation: 'insert', values: { shop: 's', at: text } } as const;
      return (await posted<WritePlanned>('write/plan', { write })).code;
    };
    const time = "at: new Date('1960-02-29T10:20:30.000Z')";
    for (const text of [
      '1960-02-29T10:20:30Z',
      '1960-02-29 10:20:30',
      '1960-02-29T10:20:30.000',
      '1960-02-29T12:20:30+02:00',
      String(Date.UTC(1960, 1, 29, 10, 20, 30)),
    ])
      expect(await at(text)).toContain(time);
    expect(await at('0001-01-01')).toContain("at: new Date('0001-01-01T00:00:00.000Z')");
    expect(() => typedFor('big', int64, ' ')).toThrow('big: int64 cannot hold " ": it must be a bigint');
    expect(literal({ number: -0 })).toBe('{ number: -0 }');
    expect(() => typedFor('face', bytes, '\\xzz')).toThrow(
      'Write bytes as HBase prints them: abc\\x00\\x01.',
    );
    const values = { id: 'j', name: 'J', more: 'no braces' };
    const write = { entity: 'Buyer', operation: 'insert', values } as const;
    expect((await posted<WritePlanned>('write/plan', { write })).code).toContain("more: 'no braces'");
  });

  test('is planned with every mutation, index entries included, and nothing is written', async () => {
    const write = {
      entity: 'Buyer',
      operation: 'update',
      row: hexOf('b3'),
      values: { city: 'Kiruna' },
    } as const;
    const plan = await posted<WritePlanned>('write/plan', { write });
    expect(plan.confirm).toBe('update Buyer');
    expect(plan.complete).toBe(true);
    expect(plan.code).toBe("await db.repository(Buyer).update({ id: 'b3' }, { city: 'Kiruna' });");
    const tables = plan.mutations.map(({ table }) => table);
    // The row, its old and new entry in the index, and the copies in sales.
    expect(tables.filter((table) => table === 'shop:people_idx')).toHaveLength(2);
    expect(tables.filter((table) => table === 'shop:sales').length).toBeGreaterThan(0);
    const [first] = plan.mutations.filter(({ table }) => table === 'shop:people');
    expect(first!.cells).toContainEqual({ column: 'd:c', type: 'Put', value: 'Kiruna' });
    expect((await db.repository(Buyer).get({ id: 'b3' }))!.city).toBe('Uppsala');
  });

  test('takes effect when its name was typed and the row is as it was seen, and is taken back', async () => {
    const write = {
      entity: 'Buyer',
      operation: 'update',
      row: hexOf('b4'),
      values: { name: 'Zed' },
    } as const;
    const { seen } = await posted<WritePlanned>('write/plan', { write });
    for (const confirm of ['', 'yes', 'delete Buyer', undefined]) {
      const { status, text } = await post('write/make', { write, confirm, seen });
      expect([status, text]).toEqual([422, expect.stringContaining('Type')]);
    }
    const before = await db.repository(Buyer).get({ id: 'b4' });
    const { undo } = await posted<WriteDone>('write/make', { write, confirm: 'update Buyer', seen });
    expect((await db.repository(Buyer).get({ id: 'b4' }))!.name).toBe('Zed');
    // Seen before the write.
    const again = await post('write/make', { write, confirm: 'update Buyer', seen });
    expect([again.status, again.text]).toEqual([422, expect.stringContaining('has changed')]);
    await posted('write/undo', { undo });
    expect(await db.repository(Buyer).get({ id: 'b4' })).toEqual(before);
    expect((await post('write/undo', { undo })).status).toBe(422);
  });

  test('an insert and a delete are taken back; not when the row has changed since', async () => {
    const values = { id: 'new', name: 'New', more: '{"tags":["x"],"at":{"floor":1}}' };
    const insert = await made({ entity: 'Buyer', operation: 'insert', values });
    expect(await db.repository(Buyer).get({ id: 'new' })).toMatchObject({ more: { tags: ['x'] } });
    await db.repository(Buyer).update({ id: 'new' }, { name: 'Newer' });
    const refused = await post('write/undo', { undo: insert.undo });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('has changed')]);
    const before = await db.repository(Buyer).get({ id: 'new' });
    const gone = await made({ entity: 'Buyer', operation: 'delete', row: hexOf('new') });
    expect(await db.repository(Buyer).get({ id: 'new' })).toBeNull();
    await posted('write/undo', { undo: gone.undo });
    expect(await db.repository(Buyer).get({ id: 'new' })).toEqual(before);
  });

  test('of a row with cells that nobody declared cannot be taken back, and says so', async () => {
    await db.engine
      .table('shop:people')
      .put(new Put(Buffer.from(hexOf('b9'), 'hex')).addColumn('d', 'foreign', 'x'));
    const { undo } = await made({ entity: 'Buyer', operation: 'delete', row: hexOf('b9') });
    expect(undo).toBeNull();
  });

  test('that is none is refused with the reason', async () => {
    const row = hexOf('b5');
    const wrong: readonly (readonly [unknown, string])[] = [
      [undefined, 'A write has'],
      [{ entity: 'Buyer', operation: 'drop' }, 'A write has'],
      [{ entity: 'Buyer', operation: 'update', row, values: { name: 7 } }, 'A write has'],
      [{ entity: 'Nobody', operation: 'delete', row }, 'no entity'],
      [{ entity: 'Buyer', operation: 'update', row, values: { nothing: 'x' } }, 'no property'],
      [{ entity: 'Buyer', operation: 'update', row, values: { id: 'x' } }, 'part of the key'],
      [{ entity: 'Buyer', operation: 'update', row: 'zz', values: { name: 'x' } }, 'no row in hex'],
      [{ entity: 'Buyer', operation: 'insert', values: { name: 'x' } }, 'id'],
      [
        { entity: 'Buyer', operation: 'update', row, values: { more: '{"tags": [' } },
        'more: it is no JSON: ',
      ],
      [
        { entity: 'Sale', operation: 'insert', values: { shop: 'main', at: '-1' } },
        'at: reverseTimestamp cannot hold \\"-1\\": it must be a valid Date. Write 2026-01-31T12:00:00Z, or milliseconds since 1970.',
      ],
      [{ entity: 'Buyer', operation: 'insert', values: { id: 'b5', name: 'x' } }, 'b5'],
    ];
    for (const [write, reason] of wrong) {
      const { status, text } = await post('write/plan', { write });
      expect([status, text]).toEqual([422, expect.stringContaining(reason)]);
    }
  });

  test('comes only from the own page, as JSON', async () => {
    const write = { entity: 'Buyer', operation: 'delete', row: hexOf('b6') };
    const { origin: _, ...withoutOrigin } = own();
    const foreign = [
      withoutOrigin,
      { ...own(), 'content-type': 'text/plain' },
      { ...own(), 'content-type': 'application/x-www-form-urlencoded' },
      { ...own(), origin: 'http://evil.example' },
      { ...own(), host: 'evil.example' },
      { ...own(), 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of foreign)
      expect((await post('write/make', { write, confirm: 'delete Buyer', seen: '' }, headers)).status).toBe(
        403,
      );
    expect((await post('write/make', { write }, { ...own(), cookie: 'x=1' })).status).toBe(401);
    expect((await ask(studio, '/api/write/plan', own(), 'POST', 'x'.repeat(5 << 20))).text).toContain(
      '4 MiB',
    );
    expect(await db.repository(Buyer).get({ id: 'b6' })).not.toBeNull();
  });
});

/** The events of a stream that has ended. */
const eventsOf = (text: string): unknown[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!) as unknown).slice(0, -1);

test('an index is verified and repaired, with what was found at the end', async () => {
  const entries = db.engine.table('shop:people_idx');
  const entry = await entries.scan(new Scan()).next();
  await entries.delete(new Delete(entry!.row));
  for (const [repair, missing] of [
    [false, 1],
    [true, 1],
    [false, 0],
  ] as const) {
    const { text } = await post('index', { entity: 'Buyer', index: 'byCity', repair });
    const last = eventsOf(text).at(-1) as IndexProgress;
    expect(last).toMatchObject({ phase: 'done', report: { missing } });
  }
  const { text } = await post('index', { entity: 'Buyer', index: 'none' });
  expect(text).toContain('event: problem');
});

test('a feed tells changes with the row before and after', async () => {
  const left = new AbortController();
  const response = await fetch(`http://127.0.0.1:${studio.port}/api/watch?entity=Buyer`, {
    headers: { cookie },
    signal: left.signal,
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toBe(': the stream is open\n\n');
  // The feed begins behind that line; a write is repeated until one is told.
  const told = reader.read();
  let done = false;
  void told.finally(() => {
    done = true;
  });
  for (let i = 0; !done; i++) {
    await db.repository(Buyer).update({ id: 'b7' }, { name: `Seven ${i}` });
    await new Promise(setImmediate);
  }
  const change = JSON.parse(/^data: (.*)$/m.exec((await told).value!)![1]!) as LiveChange;
  expect(change).toMatchObject({ entity: 'Buyer', operation: 'update' });
  expect(change.after!['name']!.value).toMatch(/^Seven /);
  expect(change.before!['id']!.value).toBe('b7');
  left.abort();
  const refused = await ask(studio, '/api/watch?entity=Sale', { cookie });
  expect(refused.text).toContain('keeps no changes');
});

test('queries are saved in the file, in the order of their names, and removed', async () => {
  expect(await got<SavedQuery[]>('queries')).toEqual([]);
  const query = { name: 'of main', entity: 'Sale', question: { key: { shop: 'main' }, limit: 5 } };
  await posted('queries/save', query);
  await posted('queries/save', { name: 'all', entity: 'Buyer', question: {} });
  expect((await got<SavedQuery[]>('queries')).map(({ name }) => name)).toEqual(['all', 'of main']);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toContainEqual(query);
  await posted('queries/remove', { name: 'all' });
  expect(await got('queries')).toEqual([query]);
  expect((await post('queries/save', { name: '', entity: 'Sale' })).status).toBe(422);
  expect((await post('queries/save', { name: 'x', entity: 'Sale', question: { drop: 1 } })).status).toBe(422);
  writeFileSync(file, '{');
  expect((await ask(studio, '/api/queries', { cookie })).text).toMatch(
    /no list of saved queries: [^.]+\. Correct or remove it\./,
  );
});

test('health tells the state of indexes, summaries and copies', async () => {
  const health = await got<HealthInfo[]>('health');
  expect(health.map(({ entity, kind, name, state }) => [entity, kind, name, state])).toEqual([
    ['Buyer', 'index', 'byCity', 'active'],
    ['Sale', 'index', 'ref_buyer', 'active'],
    ['Sale', 'summary', 'byShop', 'active'],
    ['Sale', 'copies', 'city of Buyer', 'active'],
  ]);
});

test('the heat map counts rows by salt and leading part', async () => {
  const heat = await got<HeatMap>('heat', { entity: 'Sale' });
  expect(heat).toMatchObject({ part: 'shop', counted: 90, complete: true });
  const main = heat.groups.indexOf('main');
  expect(heat.rows.map((line) => line[main]).filter((rows) => rows! > 0)).toEqual([45]);
  expect(heat.rows.flat().reduce((sum, rows) => sum + rows, 0)).toBe(90);
});

test('the bytes of a cell come as a picture or as a download, and nothing else runs', async () => {
  const { cells } = await db.engine.table('shop:people').get(new Get(Buffer.from(hexOf('b1'), 'hex')));
  const at = (column: string): string =>
    String(cells.find(({ qualifier }) => `d:${Buffer.from(qualifier)}` === column)!.timestamp);
  const given = (column: string): string =>
    `/api/value?${new URLSearchParams({ table: 'shop:people', row: hexOf('b1'), column, time: at(column) })}`;
  const picture = await ask(studio, given('d:p'), { cookie });
  expect([picture.headers['content-type'], picture.headers['content-disposition']]).toEqual([
    'image/png',
    undefined,
  ]);
  expect(picture.headers['x-content-type-options']).toBe('nosniff');
  expect(Number(picture.headers['content-length'])).toBe(PICTURE.length);
  const name = await ask(studio, given('d:n'), { cookie });
  expect([name.headers['content-type'], name.headers['content-disposition']]).toEqual([
    'application/octet-stream',
    'attachment; filename="value.bin"',
  ]);
  expect((await ask(studio, given('d:n').replace(/time=\d+/, 'time=1'), { cookie })).status).toBe(422);
});

test('Parquet is a file of the rows', async () => {
  const response = await fetch(
    `http://127.0.0.1:${studio.port}/api/export?${new URLSearchParams({ entity: 'Sale', q: '{"limit":7}', format: 'parquet' })}`,
    { headers: { cookie } },
  );
  const { parquetMetadata } = await import('hyparquet');
  const { num_rows: rows, schema } = parquetMetadata(await response.arrayBuffer());
  expect(rows).toBe(7n);
  expect(schema.map(({ name }) => name)).toContain('amount');
});
