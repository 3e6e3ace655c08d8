/**
 * One measurement of ours, in a process of its own as PerformanceEvaluation's are: `rowan-client.ts MASTERS OPERATION
 * CLIENTS ROWS`. A client is a loop that awaits each call, as a thread of PerformanceEvaluation is; the clients share
 * one connection. Prints rows a second of all clients together.
 */

import { Column, Entity, part, RowKey } from '../../../decorators/index.js';
import { bytes } from '../../../src/codec/index.js';
import { connect } from '../../../src/database.js';
import type { Repository } from '../../../src/repository/index.js';
import { Append, CheckAndMutate, Get, Increment, Put, Scan, type Table } from '../../../src/table/index.js';
import { COLUMN, FAMILY, formatRow, type Operation, TABLE, VALUE_LENGTH } from './workload.js';

/** Puts that a buffered writer sends together. */
const WRITE_BUFFER = 1000;
/** Requests that it has under way, as HBase's own client to a server (`hbase.client.max.perserver.tasks`). */
const UNDER_WAY = 2;
const MULTI_GET = 100;
const SYNCED = { durability: 'SYNC_WAL' } as const;

/** A row of the table without a marker: its put has the same cell. */
@Entity({ table: { name: TABLE, families: { [FAMILY]: {} } }, marker: false })
@RowKey(part('id'))
class Row {
  declare static readonly key: ['id'];
  id!: string;
  @Column(`${FAMILY}:${COLUMN}`, bytes) value!: Uint8Array;
}

interface Client {
  readonly table: Table;
  readonly entities: Repository<typeof Row>;
  readonly index: number;
  readonly rows: number;
  /** Random rows are taken from [0, span), as PerformanceEvaluation does. */
  readonly span: number;
}

const column = Buffer.from(COLUMN);

const OPERATIONS: Readonly<Record<Operation, (client: Client) => Promise<void>>> = {
  'random read': async ({ table, rows, span }) => {
    for (let i = 0; i < rows; i++) await table.get(randomGet(span));
  },
  'multi-get of 100': async ({ table, rows, span }) => {
    for (let i = 0; i < rows; i += MULTI_GET) {
      await table.getAll(Array.from({ length: Math.min(MULTI_GET, rows - i) }, () => randomGet(span)));
    }
  },
  'single write': async ({ table, rows, span }) => {
    for (let i = 0; i < rows; i++) await table.put(randomPut(span));
  },
  'single write of an entity': async ({ entities, rows, span }) => {
    for (let i = 0; i < rows; i++) await entities.put(randomRow(span), SYNCED);
  },
  'buffered write': ({ table, rows, span }) =>
    buffered(
      rows,
      () => randomPut(span),
      (puts) => table.putAll(puts),
    ),
  'buffered write of entities': ({ entities, rows, span }) =>
    buffered(
      rows,
      () => randomRow(span),
      (batch) => entities.putMany(batch, SYNCED),
    ),
  scan: (client) => scan(client, 30),
  'scan, 1,000 rows a call': (client) => scan(client, 1000),
  increment: async ({ table, rows }) => {
    const qualifier = Buffer.from('IncrementTest');
    for (let i = 0; i < rows; i++) {
      await table.increment(new Increment(formatRow(i)).addColumn(FAMILY, qualifier, 1));
    }
  },
  append: async ({ table, rows }) => {
    const qualifier = Buffer.from('AppendTest');
    for (let i = 0; i < rows; i++) {
      const row = formatRow(i);
      await table.append(new Append(row).addColumn(FAMILY, qualifier, row));
    }
  },
  checkAndPut: async ({ table, rows }) => {
    const qualifier = Buffer.from('CheckAndPutTest');
    for (let i = 0; i < rows; i++) {
      const row = formatRow(i);
      const put = new Put(row).addColumn(FAMILY, qualifier, row);
      await table.put(put);
      await table.checkAndMutate(CheckAndMutate.ifEquals(FAMILY, qualifier, row, put));
    }
  },
};

/** The next rows are made while others are under way. */
async function buffered<T>(rows: number, make: () => T, send: (batch: T[]) => Promise<void>): Promise<void> {
  const underWay: Promise<void>[] = [];
  for (let i = 0; i < rows; i += WRITE_BUFFER) {
    const batch = Array.from({ length: Math.min(WRITE_BUFFER, rows - i) }, make);
    if (underWay.length === UNDER_WAY) await underWay.shift();
    underWay.push(send(batch));
  }
  await Promise.all(underWay);
}

async function scan({ table, index, rows }: Client, caching: number): Promise<void> {
  const range = new Scan()
    .withStartRow(formatRow(index * rows))
    .addColumn(FAMILY, column)
    .setCaching(caching);
  let left = rows;
  for await (const result of table.scan(range)) {
    if (result.isEmpty) throw new Error('A scan gave an empty result.');
    if (--left === 0) return;
  }
  throw new Error(`The table ended ${left} rows too early for client ${index}.`);
}

function randomGet(span: number): Get {
  return new Get(formatRow(Math.floor(Math.random() * span))).addColumn(FAMILY, column);
}

function randomPut(span: number): Put {
  const row = formatRow(Math.floor(Math.random() * span));
  return new Put(row).addColumn(FAMILY, column, randomValue()).setDurability(SYNCED.durability);
}

function randomRow(span: number): Row {
  return { id: formatRow(Math.floor(Math.random() * span)).toString('latin1'), value: randomValue() };
}

/** Runs of eight equal letters, as PerformanceEvaluation's `generateData`. */
function randomValue(): Buffer {
  const value = Buffer.allocUnsafe(VALUE_LENGTH);
  for (let at = 0; at < VALUE_LENGTH; at += 8) {
    const letter = 65 + Math.floor(Math.random() * 26);
    const end = Math.min(at + 8, VALUE_LENGTH);
    for (let i = at; i < end; i++) value[i] = letter;
  }
  return value;
}

const [masters = '', operation = '', clientCount = '1', rowCount = '1000'] = process.argv.slice(2);
const run = OPERATIONS[operation as Operation];
const db = await connect({ masters: masters.split(','), entities: [Row], tables: 'ignore' });
try {
  const clients = Number(clientCount);
  const rows = Number(rowCount);
  const table = db.engine.table(TABLE);
  const entities = db.repository(Row);
  const span = rows * clients;
  const start = process.hrtime.bigint();
  await Promise.all(
    Array.from({ length: clients }, (_, index) => run({ table, entities, index, rows, span })),
  );
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  console.log(JSON.stringify({ rate: span / seconds }));
} finally {
  await db.close();
}
