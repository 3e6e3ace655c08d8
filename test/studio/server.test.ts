import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import type { Database } from '../../src/database.js';
import { part, raw } from '../../src/key/index.js';
import type {
  Catalog,
  Planned,
  Question,
  RowDetail,
  RowPage,
  SchemaReport,
} from '../../src/studio/server/api.js';
import { exportedFile } from '../../src/studio/server/export.js';
import { literal } from '../../src/studio/server/questions.js';
import type { Limits } from '../../src/studio/server/rows.js';
import { type Studio, startStudio } from '../../src/studio/server/server.js';
import { Put, Scan } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';
import { entityFormat } from '../../src/tools/entity-formats.js';
import { scaled } from '../proof/scale.js';
import { type Answer, enter, ask as send } from './client.js';
import { Customer, fill, HOSTILE, Order } from './entities.js';

const COUNT = 30;
const ROUTES = [
  ...[
    'catalog',
    'health',
    'sizes',
    'counters',
    'regions',
    'heat',
    'schema',
    'queries',
    'plan',
    'rows',
    'table',
    'row',
  ],
  ...['export', 'value'],
];
/** Those of a studio that writes, and saves queries. */
const WRITES = ['write/plan', 'write/make', 'write/undo', 'index', 'queries/save', 'queries/remove'];

let db: Database;
let studio: Studio;
let cookie: string;

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
  send(studio, path, headers, method);

async function api<T>(route: string, given: Record<string, string> = {}): Promise<T> {
  const { status, text } = await ask(`/api/${route}?${new URLSearchParams(given)}`, { cookie });
  expect(`${status} ${status === 200 ? '' : text}`).toBe('200 ');
  return JSON.parse(text) as T;
}

const rowsOf = (entity: string, question: Question, more: Record<string, string> = {}): Promise<RowPage> =>
  api<RowPage>('rows', { entity, q: JSON.stringify(question), ...more });

/** All rows of a question, page by page. */
async function allRows(entity: string, question: Question, size: number): Promise<RowPage['rows']> {
  const rows: RowPage['rows'][number][] = [];
  let cursor: string | null = null;
  do {
    const page: RowPage = await rowsOf(entity, question, {
      size: String(size),
      ...(cursor !== null && { cursor }),
    });
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== null);
  return rows;
}

beforeAll(async () => {
  db = await openMemory({ entities: [Customer, Order] });
  await fill(db, COUNT);
  studio = await startStudio(db, { place: 'memory' });
  cookie = await enter(studio);
});

afterAll(async () => {
  await studio.close();
  await db.close();
});

describe('who is let in', () => {
  test('the token makes a cookie that scripts and other sites do not get, and leaves the address', async () => {
    const first = new URL(studio.url);
    const { status, headers } = await ask(first.pathname + first.search);
    expect([status, headers.location]).toEqual([303, '/']);
    expect(headers['set-cookie']![0]).toMatch(
      /^rowan_studio_\d+=[\w-]{32}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(headers['set-cookie']![0]).not.toContain(first.searchParams.get('token'));
  });

  test('without cookie, with another one, or a wrong token nothing is told', async () => {
    for (const path of [
      '/',
      '/studio.js',
      ...ROUTES.map((route) => `/api/${route}`),
      '/?token=wrong',
      '/?token=',
    ]) {
      for (const headers of [{}, { cookie: `${cookie}x` }, { cookie: 'rowan_studio=1' }]) {
        const { status, text } = await ask(path, headers);
        expect([path, status]).toEqual([path, 401]);
        expect(text).not.toContain('shop:crm');
      }
    }
    // The token is for the first address only.
    const { search } = new URL(studio.url);
    expect((await ask(`/api/catalog${search}`)).status).toBe(401);
  });

  test('a foreign Host, another origin and another site are refused, with the cookie too', async () => {
    const { port } = studio;
    const foreign: Record<string, string>[] = [
      { host: `evil.example:${port}` },
      { host: '127.0.0.1' },
      { host: `127.0.0.1:${port + 1}` },
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { origin: `http://127.0.0.1:${port + 1}` },
      { 'sec-fetch-site': 'cross-site' },
    ];
    const first = new URL(studio.url);
    for (const headers of foreign) {
      for (const path of ['/', '/api/catalog', first.pathname + first.search]) {
        const { status, headers: answered } = await ask(path, { cookie, ...headers });
        expect([headers, path, status]).toEqual([headers, path, 403]);
        expect(answered['set-cookie']).toBeUndefined();
      }
    }
    const own = { cookie, origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' };
    expect((await ask('/api/catalog', own)).status).toBe(200);
    expect((await ask('/api/catalog', { cookie, host: `localhost:${port}` })).status).toBe(200);
  });

  test('every answer forbids what is not of the studio, and no origin is let in', async () => {
    for (const path of [
      '/',
      '/studio.js',
      '/studio.css',
      '/api/catalog',
      '/nothing',
      '/../package.json',
      '/%2e%2e/package.json',
    ]) {
      const { headers, status, text } = await ask(path, { cookie });
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self';/,
      );
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['access-control-allow-origin']).toBeUndefined();
      if (/nothing|package/.test(path)) expect([status, text]).toEqual([404, 'There is nothing here.\n']);
    }
  });
});

async function everything(): Promise<string> {
  const all: string[] = [];
  for (const { name, ...options } of await db.admin.listTables()) {
    all.push(JSON.stringify({ name, options }));
    const rows = await db.engine
      .table(name)
      .scan(new Scan().setRaw(true).readAllVersions())
      .nextBatch(10_000);
    all.push(JSON.stringify(rows));
  }
  return all.join('\n');
}

test('no request can change a byte: every method on every route, with right and wrong parameters', async () => {
  const before = await everything();
  const { lastSeq } = (db.engine as unknown as { stats(): { lastSeq: number } }).stats();
  const row = Buffer.from(db.repository(Customer).schema.key.encode({ id: 'c000001' })).toString('hex');
  const given = [
    new URLSearchParams(),
    new URLSearchParams({ entity: 'Customer', table: 'shop:crm', row, q: '{}', size: '3' }),
    new URLSearchParams({
      entity: 'Order',
      table: 'absent',
      row,
      q: '{"where":[{"property":"amount","operator":"eq","value":"1"}]}',
    }),
    new URLSearchParams({
      entity: '__proto__',
      table: '../x',
      row: 'zz',
      q: '{"key":[]}',
      cursor: 'ff',
      raw: '1',
      from: '\\x',
    }),
    new URLSearchParams({
      entity: 'Customer',
      table: 'shop:crm',
      row: '',
      q: '{',
      size: '-1',
      method: 'delete',
    }),
  ];
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    for (const route of [...ROUTES, ...WRITES, 'write', 'delete', '../row']) {
      // Every method but GET gets 405. The short size sends it without parameters.
      for (const parameters of method === 'GET' ? given : given.slice(0, scaled(1, 5, 5))) {
        const own = { cookie, origin: `http://127.0.0.1:${studio.port}`, 'content-type': 'application/json' };
        const { status } = await ask(`/api/${route}?${parameters}`, own, method);
        if (method === 'GET') expect([200, 404, 422]).toContain(status);
        else expect(status).toBe(405);
      }
    }
  }
  expect((db.engine as unknown as { stats(): { lastSeq: number } }).stats().lastSeq).toBe(lastSeq);
  expect(await everything()).toBe(before);
});

test('the catalog tells tables, families with bytes, entities, keys, columns, indexes', async () => {
  await db.admin.flush('shop:crm');
  const { tables, entities } = await api<Catalog>('catalog');
  const crm = tables.find(({ name }) => name === 'shop:crm')!;
  expect(crm).toMatchObject({ kind: 'declared', entities: ['Customer', 'Order'] });
  expect(crm.families[0]).toMatchObject({ name: 'd', maxVersions: 5, timeToLive: null });
  expect(crm.families[0]!.counted!.fileBytes).toBeGreaterThan(0);
  expect(tables.filter(({ kind }) => kind !== 'declared').every(({ kind }) => kind === 'system')).toBe(true);
  const [customer, order] = entities;
  expect(customer).toMatchObject({
    name: 'Customer',
    recordType: 1,
    indexes: [{ name: 'byCity', parts: [{ name: 'city' }] }],
  });
  expect(order!.parts.map(({ name, descending }) => [name, descending])).toEqual([
    ['id', false],
    ['at', true],
  ]);
  expect(customer!.relations).toEqual([
    { property: 'Order', declared: false, kind: 'many', entity: 'Order', via: [['id', 'id']] },
  ]);
  const regions = await api<{ start: string; end: string }[]>('regions', { table: 'shop:crm' });
  expect(regions.map(({ start, end }) => [start, end])).toEqual([
    ['', '\\x02'],
    ['\\x02', ''],
  ]);
});

describe('the key form', () => {
  const planned = (entity: string, question: Question): Promise<Planned> =>
    api<Planned>('plan', { entity, q: JSON.stringify(question) });

  test('gives the bytes of a key piece by piece, and the plan that explain gives', async () => {
    const { pieces, explanation, code } = await planned('Order', {
      key: { id: 'c000001', at: '2026-01-02T00:00:00Z' },
    });
    const row = db
      .repository(Order)
      .schema.key.encode({ id: 'c000001', at: new Date('2026-01-02T00:00:00Z') });
    expect(pieces!.map(({ hex }) => hex).join('')).toBe(Buffer.from(row).toString('hex'));
    expect(pieces!.map(({ kind }) => kind)).toEqual(['salt', 'part', 'type', 'part']);
    expect(explanation).toMatchObject({ kind: 'point', fanOut: 1 });
    expect(code).toContain('db.repository(Order)');
    expect(code).toContain("id: 'c000001', at: new Date('2026-01-02T00:00:00.000Z')");
  });

  test('says what cannot be asked, and why', async () => {
    const open = await planned('Order', {});
    expect(open.refused).toEqual({ at: expect.stringMatching(/^id before it is not given/) });
    const ranged = await planned('Order', { key: { id: { gte: 'c', lt: 'd' } } });
    expect(ranged.refused).toEqual({ at: expect.stringMatching(/^id before it is asked for with a range/) });
    expect(ranged.explanation).toMatchObject({ fanOut: 4 });
    const wrong = await planned('Order', { key: { id: 'c000001', at: 'no date' } });
    expect(wrong.problem).toMatchObject({
      code: expect.stringMatching(/^ERR_/),
      message: expect.stringMatching(
        /^at: .*no date.* Write 2026-01-31T12:00:00Z, or milliseconds since 1970\.$/,
      ),
    });
  });
});

describe('rows', () => {
  const ids = (rows: RowPage['rows']): unknown[] => rows.map(({ values }) => values['id']!.value);

  test.each([1, 7, 500])(
    'come in the order of the key over all salts, in pages of %d, both ways',
    async (size) => {
      const wanted = (await db.repository(Customer).find({}, { fullScan: true }).all()).map(({ id }) => id);
      expect(ids(await allRows('Customer', {}, size))).toEqual(wanted);
      expect(ids(await allRows('Customer', { reverse: true }, size))).toEqual([...wanted].reverse());
      const range = { key: { id: { gte: 'c00001', lt: 'c00003' } } };
      expect(ids(await allRows('Customer', range, size))).toEqual(
        wanted.filter((id) => id >= 'c00001' && id < 'c00003'),
      );
    },
  );

  test('meet conditions on columns, are found by indexes, and are read as they were', async () => {
    const lund = await allRows(
      'Customer',
      { where: [{ property: 'city', operator: 'eq', value: 'Lund' }] },
      7,
    );
    const wanted = (
      await db.repository(Customer).find({}, { fullScan: true }).where({ city: 'Lund' }).all()
    ).map(({ id }) => id);
    expect(ids(lund)).toEqual(wanted);
    const entries = await db.repository(Customer).by('byCity').find({ city: 'Lund' }).all();
    expect(ids(await allRows('Customer', { index: 'byCity', key: { city: 'Lund' } }, 7))).toEqual(
      entries.map(({ id }) => id),
    );
    const { cells } = await api<RowDetail>('row', { table: 'shop:crm', row: lund[0]!.row });
    const name = cells.filter(({ property }) => property === 'name');
    expect(name.map(({ decoded }) => decoded!.value)).toEqual(['Another name', 'Name 1']);
    const before = await rowsOf('Customer', { key: { id: 'c000001' }, asOf: name[1]!.time });
    expect(before.rows[0]!.values['name']!.value).toBe('Name 1');
  });

  test('of a table stand interleaved, and one that cannot be decoded is shown with the reason and hides none', async () => {
    const page = await api<RowPage>('table', { table: 'shop:crm', size: '1000' });
    const stored = await db.engine.table('shop:crm').scan(new Scan()).nextBatch(1000);
    expect(page.rows.map(({ row }) => row)).toEqual(
      stored.map(({ row }) => Buffer.from(row).toString('hex')),
    );
    expect(page.rows.filter(({ entity }) => entity === null)).toMatchObject([
      { printed: 'no such row', problem: 'No declared key has these bytes.' },
    ]);
    const orders = await allRows('Order', { key: { id: 'c000003' } }, 100);
    expect(orders.map(({ problem, values }) => [problem === undefined, values['amount']?.value])).toEqual([
      [true, 7],
      [true, 6],
      [false, undefined],
    ]);
    expect(orders[2]!.problem).toContain('amount');
    const second = await api<RowPage>('table', { table: 'shop:crm', size: '1000', from: '\\x02' });
    expect(second.rows[0]!.row >= '02').toBe(true);
  });

  test('as HBase has them show versions, tombstones and undeclared cells beside what is decoded', async () => {
    const { rows } = await api<RowPage>('table', { table: 'shop:crm', size: '1000', raw: '1' });
    const gone = rows.find(({ printed, entity }) => printed.includes('c000005') && entity === 'Customer')!;
    expect(gone.cells!.map(({ type }) => type)).toContain('DeleteFamily');
    const undeclared = rows.find(
      ({ printed, entity }) => printed.includes('c000004') && entity === 'Customer',
    )!;
    expect(undeclared.cells).toContainEqual(
      expect.objectContaining({ qualifier: 'undeclared', value: '\\x00\\xFF', bytes: 2 }),
    );
    expect(undeclared.values['name']!.value).toBe('Name 4');
  });

  test('are cut: long values, pages of many bytes, more rows than are allowed', async () => {
    const key = db.repository(Customer).schema.key.encode({ id: 'zz' });
    await db.engine.table('shop:crm').put(new Put(key).addColumn('d', 'n', Buffer.alloc(9 << 20, 'x')));
    const { status, text } = await ask(
      `/api/rows?${new URLSearchParams({ entity: 'Customer', size: '100000' })}`,
      { cookie },
    );
    expect([status, text.length < 1 << 20]).toEqual([200, true]);
    const long = (JSON.parse(text) as RowPage).rows.at(-1)!;
    expect(long.values['name']).toMatchObject({ bytes: 9 << 20, cut: true });
    const { row, cells } = await api<RowDetail>('row', { table: 'shop:crm', row: long.row });
    expect([String(row.values['name']!.value).length, cells[0]!.cut]).toEqual([64 * 1024, true]);
    await using narrow = await startStudio(db, { limits: { rows: 5, bytes: 1 } });
    const before = [studio, cookie] as const;
    studio = narrow;
    const first = new URL(narrow.url);
    cookie = (await ask(first.pathname + first.search)).headers['set-cookie']![0]!.split(';')[0]!;
    const page = await rowsOf('Customer', {}, { size: '100000' });
    const rest = await rowsOf('Customer', {}, { cursor: page.cursor! });
    [studio, cookie] = before;
    expect([page.rows.length, rest.rows.length]).toEqual([1, 1]);
    expect(rest.rows[0]!.row).not.toBe(page.rows[0]!.row);
    await db.repository(Customer).delete({ id: 'zz' });
  });

  test('with hostile content are JSON that no browser takes for a page', async () => {
    const { headers, text } = await ask(`/api/rows?${new URLSearchParams({ entity: 'Customer' })}`, {
      cookie,
    });
    expect(headers['content-type']).toBe('application/json');
    expect((JSON.parse(text) as RowPage).rows.map(({ values }) => values['name']?.value)).toContain(HOSTILE);
  });
});

describe('a file of what is shown', () => {
  const file = (entity: string, format: string, question: Question = {}): Promise<Answer> =>
    ask(`/api/export?${new URLSearchParams({ entity, format, q: JSON.stringify(question) })}`, { cookie });
  const all = () => db.repository(Customer).find({}, { fullScan: true }).all();

  test('is NDJSON and CSV that give the entities back, in the order that is shown', async () => {
    const { mapper } = db.repository(Customer).schema;
    const wanted = await all();
    const lines = await file('Customer', 'ndjson');
    expect([lines.status, lines.headers['content-type'], lines.headers['content-disposition']]).toEqual([
      200,
      'application/x-ndjson; charset=utf-8',
      'attachment; filename="Customer.first-1000.ndjson"',
    ]);
    const plain = lines.text.trimEnd().split('\n');
    expect(plain.map((line) => mapper.fromPlain(JSON.parse(line)))).toEqual(wanted);
    const { text } = await file('Customer', 'csv', { reverse: true });
    const items = parse(text, { columns: true }) as object[];
    const format = entityFormat('csv', db.repository(Customer).schema, undefined);
    /** A null is an empty field of CSV, and no property when it is read. */
    const given = (entity: Customer) =>
      Object.fromEntries(Object.entries(mapper.toPlain({ ...entity })).filter(([, of]) => of !== null));
    expect(items.map((item) => format.fromItem(item))).toEqual(
      wanted
        .slice()
        .reverse()
        .map((entity) => mapper.fromPlain(given(entity))),
    );
    const lund = await file('Customer', 'csv', {
      where: [{ property: 'city', operator: 'eq', value: 'Lund' }],
    });
    expect(parse(lund.text, { columns: true })).toHaveLength(
      wanted.filter(({ city }) => city === 'Lund').length,
    );
  });

  test('keeps minus zero, where a column does', async () => {
    const Signed = defineEntity({
      name: 'Signed',
      table: defineTable({ name: 'signed', families: { d: {} } }),
      key: [part('id'), part('at', raw.float64)],
      columns: (c) => ({ value: c.column('d:v', raw.float64), map: c.json<{ x: number }>('d:m') }),
    });
    await using signed = await openMemory({ entities: [Signed] });
    const { schema } = signed.repository(Signed);
    await signed.repository(Signed).put({ id: 'a', at: -0, value: -0, map: { x: -0 } });
    const limits = { rows: 10, bytes: 1e6 } as Limits;
    for (const format of ['ndjson', 'csv', 'ts']) {
      let whole = '';
      const { pieces } = exportedFile(signed, 'Signed', {}, format, limits, new AbortController().signal);
      for await (const piece of pieces) whole += String(piece);
      const found =
        format === 'ts'
          ? (new Function('Signed', `return ${whole.slice(whole.indexOf('= ') + 2)}`)(Signed) as object[])[0]
          : format === 'csv'
            ? entityFormat('csv', schema, undefined).fromItem(
                (parse(whole, { columns: true }) as object[])[0],
              )
            : schema.mapper.fromPlain(JSON.parse(whole));
      // JSON, as it is stored, has no minus zero.
      expect({ ...found }).toEqual({ id: 'a', at: -0, value: -0, map: { x: 0 } });
    }
  });

  test('is TypeScript that makes the entities again, whatever stands in them', async () => {
    const { text, headers } = await file('Customer', 'ts');
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    const [, rows = ''] =
      /^import \{ Customer \} from '.\/entities.js';\n\nexport const rows: Customer\[\] = ([\s\S]*);\n$/.exec(
        text,
      )!;
    expect(new Function('Customer', `return ${rows}`)(Customer)).toEqual(await all());
    const hard = { a: '\\"\'\n', map: new Map([[1, new Date(0)]]), '1a': 2n, bytes: Buffer.from([0, 255]) };
    const own = JSON.parse('{"__proto__": {"x": 1}}');
    expect(new Function(`return ${literal(hard)}`)()).toEqual(hard);
    expect(JSON.stringify(new Function(`return ${literal(own)}`)())).toBe('{"__proto__":{"x":1}}');
    const day = { [Symbol.toStringTag]: 'Temporal.PlainDate', toString: () => '2026-01-02' };
    expect(literal({ day })).toBe("{ day: Temporal.PlainDate.from('2026-01-02') }");
  });

  test('ends with the limits of a request, and says what is wrong, or is left unfinished', async () => {
    const before = [studio, cookie] as const;
    await using narrow = await startStudio(db, { limits: { rows: 5 } });
    studio = narrow;
    const first = new URL(narrow.url);
    cookie = (await ask(first.pathname + first.search)).headers['set-cookie']![0]!.split(';')[0]!;
    const { text, headers } = await file('Customer', 'ndjson');
    [studio, cookie] = before;
    expect([text.split('\n').length - 1, headers['content-disposition']]).toEqual([
      5,
      'attachment; filename="Customer.first-5.ndjson"',
    ]);
    for (const [entity, format, question, says] of [
      ['Customer', 'exe', {}, 'ndjson, csv, parquet and ts'],
      ['Nothing', 'csv', {}, 'There are Customer'],
      ['Customer', 'csv', { key: { other: 'x' } }, 'other'],
      ['Order', 'csv', { key: { id: 'c000003' } }, 'amount'],
    ] as const) {
      const { status, text: problem } = await file(entity, format, question);
      expect([status, problem]).toEqual([422, expect.stringContaining(says)]);
    }
    // The row that cannot be decoded stands in a later piece.
    await expect(file('Order', 'ndjson', { reverse: true })).rejects.toThrow(/aborted|hang up/);
    expect((await file('Customer', 'csv')).status).toBe(200);
  });
});

test('a request ends when its page has left, and when it takes too long', async () => {
  const given: AbortSignal[] = [];
  /** The database with scans that find nothing and do not end. */
  const endless = Object.create(db, {
    engine: {
      value: Object.create(db.engine, {
        table: {
          value: () => ({
            scan: (_: Scan, { signal }: { readonly signal: AbortSignal }) => {
              given.push(signal);
              const next = () =>
                new Promise((_resolve, reject) =>
                  signal.addEventListener('abort', () => reject(signal.reason)),
                );
              return { next, close: async () => undefined };
            },
          }),
        },
      }),
    },
  }) as Database;
  await using patient = await startStudio(endless, { limits: { time: 600_000 } });
  const left = new AbortController();
  const asked = fetch(`http://127.0.0.1:${patient.port}/api/table?table=shop:crm`, {
    headers: { cookie: await enter(patient) },
    signal: left.signal,
  });
  asked.catch(() => undefined);
  await expect.poll(() => given.length).toBe(1);
  expect(given[0]!.aborted).toBe(false);
  left.abort();
  await expect.poll(() => given[0]!.aborted).toBe(true);
  await using hurried = await startStudio(endless, { limits: { time: 50 } });
  const late = await send(hurried, '/api/table?table=shop:crm', { cookie: await enter(hurried) });
  expect([late.status, late.text]).toEqual([422, expect.stringContaining('ERR_TIMEOUT')]);
});

test('what is refused before it is a request forbids other content, too', async () => {
  const { status, headers } = await ask('/', { host: 'a/b' });
  expect(status).toBe(400);
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'/);
});

test('the page is under 400 kB compressed, and an application keeps its own Request and Response', async () => {
  const before = [globalThis.Request, globalThis.Response];
  await using again = await startStudio(db);
  expect([globalThis.Request, globalThis.Response]).toEqual(before);
  let bytes = 0;
  for (const path of ['/', '/studio.js', '/studio.css']) {
    const { text } = await send(again, path, { cookie: await enter(again) });
    bytes += gzipSync(text).length;
  }
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThan(400_000);
});

test('the schema page has the plan, the lint and the statements', async () => {
  const report = await api<SchemaReport>('schema');
  expect(report.script).toContain("create 'shop:crm'");
  expect(report.plan).not.toBe('');
});
