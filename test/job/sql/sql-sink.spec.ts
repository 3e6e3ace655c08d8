/** `sqlTable` on real databases: PostgreSQL of Debian's packages, SQLite compiled to WebAssembly. */

import fc from 'fast-check';
import initSqlJs from 'sql.js';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  JobBuilder,
  type JobRunOptions,
  type SqlConnection,
  type SqlDialect,
  sqlTable,
  tableSource,
} from '../../../src/public/jobs.js';
import { Put, Scan, tableDescriptor } from '../../../src/table/index.js';
import { memoryStore } from '../../store/engine/support.js';
import { workerOn } from '../support.js';
import { type Postgres, startPostgres } from './postgres.js';

interface Row {
  readonly id: string;
  readonly number: bigint;
  readonly when: Date | null;
  readonly flag: boolean;
  readonly bytes: Uint8Array;
  readonly more: { readonly list: readonly string[] };
}

interface Target {
  connect(): Promise<SqlConnection>;
  /** Statement and answer as rows, with NULL, numbers and bytes as the driver gives them. */
  ask(sql: string): Promise<Record<string, unknown>[]>;
}

let postgres: Postgres;
let targets: Record<'postgres' | 'sqlite', Target>;
beforeAll(async () => {
  postgres = await startPostgres();
  const client = await postgres.connect();
  const sqlite = new (await initSqlJs()).Database();
  targets = {
    postgres: {
      async connect() {
        const own = await postgres.connect();
        return { execute: (sql, parameters) => own.query(sql, parameters), close: () => own.end() };
      },
      ask: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
    },
    sqlite: {
      connect: async () => ({ execute: (sql, parameters) => sqlite.run(sql, parameters as never) }),
      async ask(sql) {
        return sqlite
          .exec(sql)
          .flatMap(({ columns, values }) =>
            values.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at]]))),
          );
      },
    },
  };
  return async () => {
    await client.end();
    await postgres.stop();
  };
});

const SMALL: JobRunOptions = { batchRows: 3, checkpointRows: 7, checkpointMs: 60_000, leaseMs: 20 };
const TYPES = {
  postgres:
    '"id" TEXT PRIMARY KEY, "number" BIGINT, "when" TIMESTAMPTZ, "flag" BOOLEAN, "bytes" BYTEA, "more" JSONB',
  sqlite: '"id" TEXT PRIMARY KEY, "number" INTEGER, "when" TEXT, "flag" INTEGER, "bytes" BLOB, "more" TEXT',
} as const;

async function storeOf(count: number) {
  const { engine } = await memoryStore();
  await engine.admin.createTable(tableDescriptor('t', { f: {} }), [Buffer.from('r020')]);
  const rows = Array.from({ length: count }, (_, i) => `r${String(i).padStart(3, '0')}`);
  await engine.table('t').putAll(rows.map((row, i) => new Put(row).addColumn('f', 'n', String(i))));
  return engine;
}

function toRow(id: string, number: number): Row {
  return {
    id,
    number: 2n ** 40n + BigInt(number),
    when: number % 3 === 0 ? null : new Date(number * 1000),
    flag: number % 2 === 0,
    bytes: Uint8Array.of(number, 0, 255),
    more: { list: [`"${number}'`] },
  };
}

describe.each(['postgres', 'sqlite'] as const)('%s', (dialect: SqlDialect & keyof typeof TYPES) => {
  test('has every item once, whoever died when, and two of one statement with one key', async () => {
    const target = targets[dialect];
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 4 }), async (deaths) => {
        const table = `things "${round++}"`;
        const quoted = `"${table.replaceAll('"', '""')}"`;
        await target.ask(`CREATE TABLE ${quoted} (${TYPES[dialect]})`);
        const engine = await storeOf(40);
        for (const lives of [...deaths, undefined]) {
          const worker = workerOn(engine, lives === undefined ? {} : { lives });
          await new JobBuilder(worker.engine, 'sql')
            .from(tableSource('t', () => new Scan()))
            .map<number, Row>((row, emit) => {
              const number = Number(Buffer.from(row.getValue('f', 'n')!).toString());
              const id = Buffer.from(row.row).toString();
              emit(0, { ...toRow(id, number), number: -1n });
              emit(0, toRow(id, number));
            })
            .to(
              sqlTable<Row>({
                dialect,
                table,
                columns: ['id', 'number', 'when', 'flag', 'bytes', 'more'],
                key: ['id'],
                rowsPerStatement: 2,
                connect: () => target.connect(),
              }),
            )
            .run(SMALL)
            .catch((error: unknown) => expect(error).toMatchObject({ code: 'ERR_CONNECTION' }));
        }
        const rows = await target.ask(`SELECT * FROM ${quoted} ORDER BY "id"`);
        expect(rows).toHaveLength(40);
        for (const [i, row] of rows.entries()) {
          const wanted = toRow(row['id'] as string, i);
          expect(row['id']).toBe(`r${String(i).padStart(3, '0')}`);
          expect(BigInt(row['number'] as string)).toBe(wanted.number);
          expect(row['when'] && new Date(row['when'] as string)).toEqual(wanted.when);
          expect(Boolean(row['flag'])).toBe(wanted.flag);
          expect(new Uint8Array(row['bytes'] as Uint8Array)).toEqual(wanted.bytes);
          expect(typeof row['more'] === 'string' ? JSON.parse(row['more']) : row['more']).toEqual(
            wanted.more,
          );
        }
        await engine.close();
      }),
      { numRuns: 8 },
    );
  });

  test('an error of the database ends the job, which goes on when it is mended', async () => {
    const target = targets[dialect];
    const engine = await storeOf(30);
    const job = () =>
      new JobBuilder(engine, 'mended')
        .from(tableSource('t', () => new Scan()))
        .map<number, { id: string }>((row, emit) => emit(0, { id: Buffer.from(row.row).toString() }))
        .to(
          sqlTable({ dialect, table: 'late', columns: ['id'], key: ['id'], connect: () => target.connect() }),
        );
    await expect(job().run(SMALL)).rejects.toThrow('late');
    await target.ask('CREATE TABLE late (id TEXT PRIMARY KEY)');
    expect(await job().run(SMALL)).toMatchObject({ rows: 30, resumed: true });
    expect(await target.ask('SELECT id FROM late')).toHaveLength(30);
    await engine.close();
  });
});
