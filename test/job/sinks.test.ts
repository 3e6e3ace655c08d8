import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Column, Counter, Entity, RowKey, Table } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import {
  csvFiles,
  entitySink,
  increments,
  ndjsonFiles,
  type SqlValue,
  several,
  sqlTable,
  type Tagged,
} from '../../src/job/index.js';
import { part, recordType, salt } from '../../src/key/index.js';
import { openTestDatabase, type TestDatabase } from '../query/test-database.js';

@Table({ name: 'sink_lines', families: { d: {} } })
class Lines {}

@Entity({ table: Lines, recordType: 1 })
@RowKey(salt(2), part('id', text), recordType())
class Line {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:t', text) text!: string;
}

@Table({ name: 'sink_words', families: { d: {} } })
class Words {}

@Entity({ table: Words, recordType: 1 })
@RowKey(part('word', text), recordType())
class Word {
  declare static readonly key: ['word'];
  word!: string;
  @Counter('d:n') times?: bigint;
  @Counter('d:l') letters?: bigint;
}

let db: TestDatabase;
beforeEach(async () => {
  db = await openTestDatabase([Line, Word]);
  const texts = ['ash elm', 'elm', '', 'oak ash elm'];
  await db.repository(Line).putMany(texts.map((each, i) => ({ id: `l${i}`, text: each })));
});
afterEach(() => db.dispose());

const everything = () => db.repository(Line).find({}, { fullScan: true });

test('increments add what mappers emit, summed up, beside entities of another table', async () => {
  const sinks = { counters: increments(db.repository(Word)), lines: entitySink(db.repository(Line)) };
  await db
    .job('counting')
    .from(everything())
    .map<number, Tagged<typeof sinks>>((line, emit) => {
      for (const each of line.text.split(' ').filter(Boolean)) {
        emit(0, {
          to: 'counters',
          item: { key: { word: each }, by: { times: 1, letters: BigInt(each.length) } },
        });
      }
      emit(0, { to: 'lines', item: { id: `copy of ${line.id}`, text: line.text } });
    })
    .to(several(sinks))
    .run({ batchRows: 1 });
  const found = await db.repository(Word).find({}, { fullScan: true }).all();
  expect(found.map(({ word, times, letters }) => [word, times, letters])).toEqual([
    ['ash', 2n, 6n],
    ['elm', 3n, 9n],
    ['oak', 1n, 3n],
  ]);
  expect(await everything().count()).toBe(8);
});

describe('value objects', () => {
  /** As those of Temporal: it shows no properties. */
  class Day {
    readonly #day: number;
    constructor(day: number) {
      this.#day = day;
    }
    toJSON(): string {
      return `day ${this.#day}`;
    }
  }
  const dated = () =>
    db
      .job('dated')
      .from(everything())
      .map<string, { id: string; day: unknown }>(({ id }, emit) => {
        const day = id === 'l0' ? new Day(1) : new Day(2);
        emit('of all', { id, day });
      });

  test('are written as what toJSON returns', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rowan-sinks-'));
    const written = (): string =>
      readdirSync(folder)
        .map((name) => readFileSync(join(folder, name), 'utf8'))
        .join('');
    try {
      await dated().to(ndjsonFiles(folder)).run({ parallel: 1 });
      expect(written()).toContain('{"id":"l0","day":"day 1"}\n');
      await dated()
        .to(csvFiles(folder, { columns: ['id', 'day'] }))
        .run({ parallel: 1, restart: true });
      expect(written()).toContain('l0,day 1\n');
    } finally {
      rmSync(folder, { recursive: true });
    }
    const rows: SqlValue[] = [];
    const connect = () => ({ execute: (_: string, values: SqlValue[]) => void rows.push(...values) });
    const options = { dialect: 'sqlite', table: 't', columns: ['day'], key: ['day'], connect } as const;
    await dated()
      .to(sqlTable<{ id: string; day: unknown }>(options))
      .run({ parallel: 1, batchRows: 4, restart: true });
    expect(new Set(rows)).toEqual(new Set(['day 1', 'day 2']));
  });

  test('of which nothing can be written are refused, and not lost', async () => {
    const job = db
      .job('sets')
      .from(everything())
      .map<number, { tags: Set<string> }>(({ id }, emit) => emit(0, { tags: new Set([id]) }));
    await expect(job.to(ndjsonFiles(join(tmpdir(), 'rowan-no-sinks'))).run()).rejects.toThrow(
      /an object of Set has no properties and no toJSON, so its value would be lost/,
    );
    rmSync(join(tmpdir(), 'rowan-no-sinks'), { recursive: true });
  });
});

describe('sqlTable', () => {
  /** The statements that a job over the lines sends. */
  async function statements(
    dialect: 'postgres' | 'sqlite' | 'mysql',
    key: readonly ('id' | 'size')[],
    columns: readonly ('id' | 'size')[] = ['id', 'size'],
  ): Promise<[string, SqlValue[]][]> {
    const sent: [string, SqlValue[]][] = [];
    await db
      .job(`sql-${dialect}-${key.length}-${columns.length}`)
      .from(everything())
      .map<number, { id: string; size: number }>((line, emit) => {
        emit(0, { id: line.id.slice(0, 1), size: line.text.length });
      })
      .to(
        sqlTable({
          dialect,
          schema: 's',
          table: 'a"b`',
          columns,
          key,
          connect: () => ({ execute: (sql, values) => void sent.push([sql, values]) }),
        }),
      )
      .run({ parallel: 1 });
    return sent.filter(([, values]) => values.length > 0);
  }

  test('replaces what has the key, in the words of each database; of one key only the last', async () => {
    const [[postgres, values] = []] = await statements('postgres', ['id']);
    expect(postgres).toBe(
      'INSERT INTO "s"."a""b`" ("id", "size") VALUES ($1, $2) ON CONFLICT ("id") DO UPDATE SET "size" = excluded."size"',
    );
    expect(values).toHaveLength(2);
    expect((await statements('mysql', ['id']))[0]![0]).toBe(
      'INSERT INTO `s`.`a"b``` (`id`, `size`) VALUES (?, ?) ON DUPLICATE KEY UPDATE `size` = VALUES(`size`)',
    );
    expect((await statements('sqlite', ['id'], ['id']))[0]![0]).toBe(
      'INSERT INTO "s"."a""b`" ("id") VALUES (?) ON CONFLICT ("id") DO NOTHING',
    );
    const inserted = await statements('postgres', []);
    expect(inserted.flatMap(([, each]) => each)).toHaveLength(8);
    expect(inserted[0]![0]).not.toContain('CONFLICT');
  });

  test('refuses what can never be right', () => {
    const given = {
      dialect: 'sqlite',
      table: 't',
      columns: ['id'],
      connect: () => ({ execute() {} }),
    } as const;
    for (const wrong of [
      { dialect: 'oracle' },
      { columns: [] },
      { key: ['other'] },
      { rowsPerStatement: 0 },
      { rowsPerStatement: Number.NaN },
    ]) {
      expect(() => sqlTable({ ...given, ...wrong } as never)).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }),
      );
    }
  });
});
