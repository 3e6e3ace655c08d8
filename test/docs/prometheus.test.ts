/** The endpoint for Prometheus on the page about observing: started with its own function, scraped, and read by the rules of the text format. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { transformSync } from 'esbuild';
import { expect, test } from 'vitest';
import { Column, Entity, Index, part, RowKey } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { Metric } from '../../src/table/telemetry.js';
import { openMemory } from '../../src/testing/index.js';
import { Served } from '../server/served.js';
import { blocksOf } from './snippets.js';

@Entity({ table: { name: 'scraped', families: { d: {} } } })
@RowKey(part('id'))
class Note {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byTag: ['tag'] };
  id!: string;
  @Index('byTag') @Column('d:t', text) tag!: string;
}

const page = blocksOf('observing').find(({ code }) => code.includes('function prometheusText'))!;
const source = /^function prometheusText[\s\S]*?^\}$/m.exec(page.code)![0];
const prometheusText = new Function(
  `${transformSync(source, { loader: 'ts' }).code}; return prometheusText;`,
)() as (metrics: readonly Metric[]) => string;

interface Sample {
  readonly help: string;
  readonly type: string;
  readonly value: number;
}

/** The samples of an answer by name. Version 0.0.4: lines of help and type stand before each sample, and the last line has an end. */
function parsed(answer: string): Map<string, Sample> {
  expect(answer.endsWith('\n')).toBe(true);
  const lines = answer.slice(0, -1).split('\n');
  const samples = new Map<string, Sample>();
  const groups = new Set<string>();
  for (let i = 0; i < lines.length; ) {
    const [, name, help] = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ([^\\]+)$/.exec(lines[i++]!)!;
    const [, type] = new RegExp(`^# TYPE ${name} (counter|gauge)$`).exec(lines[i++]!)!;
    // All samples of a name are one group.
    expect(groups.has(name!), name).toBe(false);
    groups.add(name!);
    expect(name!.endsWith('_total'), name).toBe(type === 'counter');
    const before = samples.size;
    for (; i < lines.length && !lines[i]!.startsWith('#'); i++) {
      const [, sample, value] = new RegExp(
        `^(${name}(?:\\{[a-z_]+="(?:[^"\\\\\\n]|\\\\["\\\\n])*"\\})?) (-?[0-9.e+-]+|NaN|[+-]Inf)$`,
      ).exec(lines[i]!)!;
      expect(samples.has(sample!), sample).toBe(false);
      samples.set(sample!, { help: help!, type: type!, value: Number(value) });
    }
    expect(samples.size).toBeGreaterThan(before);
  }
  return samples;
}

/** Starts the endpoint and asks it once. */
async function scraped(metrics: () => Promise<readonly Metric[]>): Promise<Map<string, Sample>> {
  const server = createServer(async (_, response) => {
    response.setHeader('content-type', 'text/plain; version=0.0.4');
    response.end(prometheusText(await metrics()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4');
    return parsed(await answer.text());
  } finally {
    server.close();
  }
}

test('an embedded store', async () => {
  await using db = await openMemory({ entities: [Note] });
  await db.repository(Note).put({ id: 'a', tag: 'x' });
  const all = async () => [...db.engine.metrics(), ...(await db.backlog())];
  const samples = await scraped(all);
  expect(samples.size).toBe((await all()).length);
  expect(samples.get('rowan_store_memstore_bytes')).toEqual({
    help: 'Cells in memory that no file has yet.',
    type: 'gauge',
    value: db.engine.metrics().find(({ name }) => name === 'rowan.store.memstore.bytes')!.value,
  });
  expect(samples.get('rowan_store_memstore_bytes')!.value).toBeGreaterThan(0);
  expect(samples.get('rowan_store_stalls_total')).toMatchObject({ type: 'counter', value: 0 });
});

test("HBase's client", async () => {
  await using served = await Served.start();
  const db = new Database(compileSchema([Note]), await served.connect(), 'create');
  await db.ready();
  await db.repository(Note).put({ id: 'a', tag: 'x' });
  const samples = await scraped(async () => [...db.engine.tableMetrics(), ...(await db.backlog())]);
  expect(samples.get('rowan_hbase_table_rows_total{db_collection_name="scraped"}')).toEqual({
    help: 'Rows found by reads, and rows that changes named',
    type: 'counter',
    value: db.engine.metrics().tables['scraped']!.rows,
  });
  expect(samples.get('rowan_hbase_table_rows_total{db_collection_name="hbase:meta"}')!.value).toBeGreaterThan(
    0,
  );
  expect([...samples.keys()].filter((name) => !name.startsWith('rowan_hbase_table_')).sort()).toEqual([
    'rowan_change_restarts_total',
    'rowan_index_repairs_total',
    'rowan_index_takeovers_total',
    'rowan_index_unverified',
    'rowan_index_unverified_age',
  ]);
});
