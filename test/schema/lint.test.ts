/** What declarations smell of. Each rule is met by a declaration that breaks it and missed by one that does not. */

import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import {
  type ColumnBuilder,
  defineEntity,
  defineTable,
  type EntityDefinition,
  hash,
  type PropertyDefinitions,
  part,
  salt,
} from '../../decorators/index.js';
import { boolean, bytes, date, text, uint64, ulid } from '../../src/codec/index.js';
import { bucket, type KeyElement, literal, timeBucket } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { LINT_CODES, type LintOptions, lintTables } from '../../src/schema/index.js';
import type { FamilyOptions, TableOptions } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';

interface Given {
  readonly families?: Record<string, FamilyOptions>;
  readonly table?: TableOptions & { presplit?: { regions: number } };
  readonly key?: readonly KeyElement[];
  readonly more?: object;
  readonly columns?: (c: ColumnBuilder<`${string}:${string}`>) => PropertyDefinitions;
}

/** Nothing to say against it. */
const SOUND: FamilyOptions = { dataBlockEncoding: 'FAST_DIFF', compression: 'ZSTD' };

function entityOf({ families, table, key, more, columns }: Given) {
  return defineEntity({
    name: 'Note',
    table: defineTable({
      name: 'notes',
      families: Object.fromEntries(
        Object.entries(families ?? { d: {} }).map(([name, options]) => [name, { ...SOUND, ...options }]),
      ),
      ...table,
    }),
    key: key ?? [part('id')],
    columns: columns ?? ((c) => ({ text: c.column('d:t', text) })),
    ...more,
  } as EntityDefinition<string, readonly KeyElement[], PropertyDefinitions>);
}

function codes(given: Given, options?: LintOptions): string[] {
  return lintTables(compileSchema([entityOf(given)]).tables, options).map(({ code }) => code);
}

test('a sound declaration smells of nothing', () => {
  expect(codes({})).toEqual([]);
});

const CASES: [code: string, smells: Given, sound: Given][] = [
  ['many-families', { families: { a: {}, b: {}, c: {}, d: {} } }, { families: { b: {}, c: {}, d: {} } }],
  ['long-family-name', { families: { d: {}, words: {} } }, { families: { d: {}, word: {} } }],
  ['many-versions', { families: { d: { versions: 101 } } }, { families: { d: { versions: 100 } } }],
  [
    'keep-deleted-with-ttl',
    { families: { d: { keepDeletedCells: 'TRUE', ttl: 60 } } },
    { families: { d: { keepDeletedCells: 'TTL', ttl: 60 } } },
  ],
  [
    'min-versions-without-ttl',
    { families: { d: { versions: 2, minVersions: 1 } } },
    { families: { d: { versions: 2 } } },
  ],
  [
    'min-versions-with-ttl',
    { families: { d: { minVersions: 1, ttl: 60 } } },
    { families: { d: { ttl: 60 } } },
  ],
  [
    'no-compression',
    { families: { d: { compression: 'NONE', dataBlockEncoding: 'NONE' } } },
    { families: { d: { compression: 'NONE' } } },
  ],
  [
    'rowcol-bloom',
    { families: { d: { bloomFilter: 'ROWCOL' } } },
    { families: { d: { bloomFilter: 'NONE' } } },
  ],
  ['block-size', { families: { d: { blockSize: 8191 } } }, { families: { d: { blockSize: 8192 } } }],
  [
    'block-size',
    { families: { d: { blockSize: (1 << 20) + 1 } } },
    { families: { d: { blockSize: 1 << 20 } } },
  ],
  ['region-size', { table: { maxFileSize: 2 ** 30 } }, { table: { maxFileSize: 20 * 2 ** 30 } }],
  [
    'many-regions',
    {
      key: [hash('id')],
      table: { presplit: { regions: 201 } },
      columns: (c) => ({ id: c.column('d:i', text) }),
    },
    {
      key: [hash('id')],
      table: { presplit: { regions: 200 } },
      columns: (c) => ({ id: c.column('d:i', text) }),
    },
  ],
  [
    'counter-beside-marker',
    {
      families: { d: {}, c: {} },
      columns: (c) => ({ text: c.column('d:t', text), count: c.counter('c:n') }),
    },
    {
      families: { d: {}, c: {} },
      columns: (c) => ({ count: c.counter('c:n'), text: c.column('d:t', text) }),
    },
  ],
  ['skip-wal', { table: { durability: 'SKIP_WAL' } }, { table: { durability: 'ASYNC_WAL' } }],
  [
    'long-qualifier',
    { columns: (c) => ({ text: c.column('d:seventeenletters1', text) }) },
    { columns: (c) => ({ text: c.column('d:sixteenletters12', text) }) },
  ],
  [
    'time-leads-key',
    { key: [part('at', date)] },
    { key: [salt(4), part('at', date)], table: { presplit: { regions: 4 } } },
  ],
  [
    'time-leads-key',
    { key: [timeBucket('at', '1h'), part('at', date)] },
    { key: [bucket('at', 8), timeBucket('at', '1h'), part('at', date)] },
  ],
  [
    'time-leads-key',
    { key: [literal('log'), part('at', date)] },
    { key: [bucket('at', 4), part('at', date)] },
  ],
  ['time-leads-key', { key: [part('id', ulid)] }, { key: [part('who'), part('id', ulid)] }],
  ['number-leads-key', { key: [part('id', uint64)] }, { key: [part('who'), part('id', uint64)] }],
  [
    'salt-of-few-values',
    { key: [salt(4, ['on']), part('on', boolean), part('id')], table: { presplit: { regions: 4 } } },
    { key: [salt(4, ['on', 'id']), part('on', boolean), part('id')], table: { presplit: { regions: 4 } } },
  ],
  [
    'salted-without-splits',
    { key: [salt(4), part('id')] },
    { key: [salt(4), part('id')], table: { presplit: { regions: 4 } } },
  ],
  [
    'ttl-beyond-family',
    { families: { d: { ttl: 60 } }, more: { ttl: 60_001 } },
    { families: { d: { ttl: 60 } }, more: { ttl: 60_000 } },
  ],
];

describe('rules', () => {
  test.each(CASES)('%s', (code, smells, sound) => {
    expect(codes(smells)).toContain(code);
    expect(codes(sound)).not.toContain(code);
  });
});

describe('samples', () => {
  const of = (rows: Record<string, unknown>[], given: Given = {}): string[] =>
    codes(given, { samples: new Map([['Note', rows]]) });
  const many = (row: (i: number) => Record<string, unknown>): Record<string, unknown>[] =>
    Array.from({ length: 60 }, (_, i) => row(i));

  it('tell large cells, long keys, names that outweigh values, and families of few rows', () => {
    const columns: Given['columns'] = (c) => ({
      text: c.column('d:t', text).optional(),
      body: c.column('e:b', bytes).optional(),
    });
    const families = { d: {}, e: {} };
    expect(of([{ id: 'a', body: new Uint8Array(100 * 1024 + 1) }], { columns, families })).toContain(
      'big-cell',
    );
    expect(of([{ id: 'a', body: new Uint8Array(10 * 2 ** 20 + 1) }], { columns, families })).toContain(
      'large-cell',
    );
    expect(of([{ id: 'a'.repeat(101), text: 'b'.repeat(100) }])).toEqual(['long-keys']);
    expect(of([{ id: 'abcdefghij', text: 'b' }])).toEqual(['mostly-names']);
    expect(of([{ id: 'abc', text: 'b'.repeat(10) }])).toEqual([]);
    const rows = many((i) => ({
      id: `k${i}`,
      text: 'b'.repeat(50),
      ...(i < 3 ? { body: Uint8Array.of(1) } : {}),
    }));
    expect(of(rows, { columns, families })).toContain('uneven-families');
  });

  it('tell where keys would land', () => {
    const given: Given = {
      key: [salt(4, ['who']), part('who'), part('id')],
      table: { presplit: { regions: 4 } },
    };
    const written = (who: (i: number) => string) =>
      many((i) => ({ who: who(i), id: `${i}`, text: 'b'.repeat(50) }));
    expect(
      of(
        written(() => 'one'),
        given,
      ),
    ).toContain('hot-keys');
    expect(
      of(
        written((i) => `who${i}`),
        given,
      ),
    ).toEqual([]);
  });
});

describe('suppressions', () => {
  const smells: Given = { key: [part('at', date)] };
  it('take out what is meant, with a reason, where it is said', () => {
    const reason = 'one writer';
    expect(codes(smells, { suppressions: [{ code: 'time-leads-key', reason }] })).toEqual([]);
    expect(codes(smells, { suppressions: [{ code: 'time-leads-key', place: 'Note key', reason }] })).toEqual(
      [],
    );
    expect(codes(smells, { suppressions: [{ code: 'time-leads-key', place: 'Other key', reason }] })).toEqual(
      ['time-leads-key', 'unused-suppression'],
    );
  });
  it.each([
    [{ code: 'time-leads-key' }],
    [{ code: 'time-leads-key', reason: ' ' }],
    [{ code: 'nope', reason: 'x' }],
    [7],
    7,
  ])('refuse %j', (...suppressions) => {
    expect(() => codes(smells, { suppressions: suppressions as never })).toThrow(/suppression|reason|rule/i);
  });
});

it('each code has a section in the docs, and each section is of a code', () => {
  const page = readFileSync(new URL('../../docs/lint.md', import.meta.url), 'utf8');
  const sections = [...page.matchAll(/^## (.*)$/gm)].map(([, title]) => title!);
  expect(sections.sort()).toEqual([...LINT_CODES].sort());
});

it('warnings are events when a database is opened, hints are not', async () => {
  const events: unknown[] = [];
  const Note = entityOf({ key: [part('at', date)], families: { d: { bloomFilter: 'ROWCOL' } } });
  const db = await openMemory({ entities: [Note], onEvent: (event) => events.push(event) });
  await db.close();
  expect(events.filter((event) => (event as { kind: string }).kind === 'lint')).toMatchObject([
    { findings: [{ code: 'time-leads-key', table: 'notes', place: 'Note key' }] },
  ]);
});
