import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  AfterPut,
  BeforePut,
  Column,
  Counter,
  DeletedAt,
  Entity,
  RowKey,
  Table,
  Version,
} from '../../decorators/index.js';
import { float64, text } from '../../src/codec/index.js';
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

@Table({ name: 'sink_tallies', families: { d: {} } })
class Tallies {}

@Entity({ table: Tallies })
@RowKey(part('id', text))
class Tally {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:l', float64) letters!: number;
  @Column('d:w', float64) twice?: number;
  @Version('d:v', float64) version?: number;
  @DeletedAt('d:x') deletedAt?: Date | null;

  get doubled(): number {
    return this.letters * 2;
  }

  @BeforePut()
  double(): void {
    this.twice = this.doubled;
  }

  @AfterPut()
  check(): void {
    if (this.letters < 0) throw new Error('negative');
  }
}

let db: TestDatabase;
beforeEach(async () => {
  db = await openTestDatabase([Line, Word, Tally]);
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

describe('entities with a version', () => {
  test('are put again by a job that is resumed', async () => {
    const sink = entitySink(db.repository(Tally));
    const run = (killed: boolean) =>
      db
        .job('tallies')
        .from(everything())
        .map<number, { id: string; letters: number }>(({ id, text: { length } }, emit) =>
          emit(0, { id, letters: length }),
        )
        .to({
          ...sink,
          async open(context) {
            const writer = await sink.open(context);
            return {
              async write(items) {
                await writer.write(items);
                if (killed) throw new Error('killed');
              },
            };
          },
        })
        .run({ parallel: 1 });
    const tallies = db.repository(Tally).find({}, { fullScan: true });
    await expect(run(true)).rejects.toThrow('killed');
    expect(await tallies.count()).toBeGreaterThan(0);
    expect(await run(false)).toMatchObject({ rows: 4, resumed: true });
    const found = await tallies.all();
    expect(found.map(({ id, letters }) => [id, letters])).toEqual([
      ['l0', 7],
      ['l1', 3],
      ['l2', 0],
      ['l3', 11],
    ]);
    expect(new Set(found.map(({ version }) => version))).toEqual(new Set([1, 2]));
  });

  test('of one key are put in order, as instances of their class, and over a deleted one', async () => {
    const stored = db.repository(Tally);
    await stored.put({ id: 'same', letters: 9 });
    await stored.delete({ id: 'same' });
    const writer = await entitySink(stored).open({} as never);
    const items = Array.from({ length: 70 }, (_, i) =>
      Object.assign(new Tally(), { id: 'same', letters: i }),
    );
    await writer.write(items);
    expect(await stored.get({ id: 'same' })).toMatchObject({ letters: 69, twice: 138 });
  });

  test('are put only over the version that they have, if they have one', async () => {
    const stored = db.repository(Tally);
    await stored.put({ id: 'a', letters: 1 });
    const read = (await stored.get({ id: 'a' }))!;
    await stored.update({ id: 'a' }, { letters: 2 });
    const writer = await entitySink(stored).open({} as never);
    const reads = vi.spyOn(stored, 'getMany');
    await expect(writer.write([{ ...read, letters: 3 }])).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    expect(reads).not.toHaveBeenCalled();
    expect(await stored.get({ id: 'a' })).toMatchObject({ letters: 2, version: 2 });
    await writer.write([{ ...(await stored.get({ id: 'a' }))!, letters: 3 }]);
    expect(await stored.get({ id: 'a' })).toMatchObject({ letters: 3, version: 3 });
  });

  test('end the job with the error of a hook that runs after the write', async () => {
    const writer = await entitySink(db.repository(Tally)).open({} as never);
    await expect(writer.write([{ id: 'refused', letters: -1 }])).rejects.toMatchObject({ code: 'ERR_HOOK' });
  });
});
