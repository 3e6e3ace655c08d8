/**
 * The tables of docs/performance*.md, made from `test/bench/results/`. A page has each between `<!-- bench: NAME -->` and
 * `<!-- /bench -->`. A bench writes them with `--merge`; test/docs/bench-tables.test.ts holds pages and results together.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  both,
  type Cell,
  type Column,
  clock,
  cpuOrRatio,
  type Grid,
  inverse,
  longer,
  memory,
  perMedian,
  processor,
  render,
  times,
  value,
} from './grid.js';
import type { BenchRow } from './harness.js';

const RESULTS = 'test/bench/results';
const PAGES = ['docs/performance.md', 'docs/performance-servers.md'];

const KEYS = ['digits', 'digest', 'composite', 'text', 'skewed', 'uuid'];
const KEY_COLUMNS: readonly Column[] = KEYS.map((insert) => ({
  label: insert === 'text' ? 'URLs' : insert === 'uuid' ? 'UUIDs' : insert,
  insert,
}));
const PLACES = ['memstore', 'one file', 'several files'];
const PEERS = ['lmdb', 'classic-level'];
const CLIENTS = ['1 client', '16 clients'];

/** Columns whose labels are also what stands in the titles. */
const columnsOf = (inserts: readonly string[]): readonly Column[] =>
  inserts.map((insert) => ({ label: insert, insert }));

/** Lines whose labels begin the titles. */
const linesOf = (labels: readonly string[], end = ''): readonly (readonly [string, string])[] =>
  labels.map((label) => [label, `${label}${end}`]);

const CLOCK_AND_CPU = (peer: string): Cell => both(times(clock, peer), times(processor, peer));

const LIFE = '100000 rows of 1000 bytes, zipf, 60 x 60 s';
const YCSB = {
  'A: 50 reads, 50 updates': 'A (50 reads, 50 updates)',
  'B: 95 reads, 5 updates': 'B (95 reads, 5 updates)',
  'C: reads': 'C (reads)',
  'D: 95 reads of the latest, 5 inserts': 'D (95 reads of the latest, 5 inserts)',
  'E: 95 scans of 1 to 100, 5 inserts': 'E (95 scans of 1 to 100, 5 inserts)',
  'F: 50 reads, 50 read-modify-writes': 'F (50 reads, 50 read-modify-writes)',
};
const BYTES = {
  'bytes of fields for one written to the disk': 'bytes of fields written for one to the disk',
  'bytes of fields for one on the disk': 'bytes of fields for one on the disk',
};
const YCSB_LINES = Object.entries(YCSB).map(
  ([label, title]) => [label, `${title}, *, 1000000 records, not synced`] as const,
);
const YCSB_PEERS = [
  { contestants: 'lmdb / classic-level', insert: 'table', peers: PEERS },
  {
    contestants: 'lmdb-fields / classic-level-fields',
    insert: 'table',
    peers: PEERS.map((peer) => `${peer}-fields`),
  },
  { contestants: 'better-sqlite3 / Drizzle', insert: 'entities', peers: ['better-sqlite3', 'drizzle'] },
];
const START = both(inverse(1000, 0), inverse(1000, 0, processor), value(1, memory, 1.048576));

const TABLES: Readonly<Record<string, Grid>> = {
  reads: {
    file: 'store',
    corner: 'read, rows in',
    lines: [
      'get of a column',
      'get of a row of one column',
      'miss, whole row',
      'full scan',
      'batches of 100 puts, os',
    ].flatMap((operation) =>
      PLACES.map((place): readonly [string, string] => [
        `${operation.replace(/, .*/, '')}, ${place}`,
        `${operation}, *, ${place}`,
      ]),
    ),
    columns: KEY_COLUMNS,
    cell: times(clock, ...PEERS),
  },
  'synced puts': {
    file: 'store',
    corner: 'puts',
    lines: [
      ['one at a time', 'single put, fsync, *'],
      ['100 in flight', '100 concurrent puts, fsync, *'],
    ],
    columns: KEY_COLUMNS,
    cell: times(clock, ...PEERS),
  },
  operations: {
    file: 'store',
    corner: '',
    lines: [
      ['whole row of ten columns', 'get of a row of ten columns, composite, *'],
      ['range of 50 rows', 'range of 50 rows, composite, *'],
      ['increment', 'increment, os, composite, *'],
      ['checkAndMutate', 'checkAndMutate, os, composite, *'],
      [
        'queue: a task put, the first found and deleted',
        'queue: put a task, find the first, delete it, os, composite, *',
      ],
      ['95 gets and 5 puts of 100, by zipf', '95 gets and 5 puts of 100, zipf, os, composite, *'],
    ],
    columns: columnsOf(['one file', 'several files']),
    cell: times(perMedian, ...PEERS),
  },
  growth: {
    file: 'store',
    corner: 'p50 in us',
    lines: [
      ['get of a column', 'get of a column, composite, one file*'],
      ['range of 50 rows', 'range of 50 rows, composite, one file*'],
    ],
    columns: [
      ...[5, 6, 7].map((power) => ({ label: `10^${power} rows`, insert: ` of ${10 ** power} rows` })),
      { label: '200,000 rows, LZ4', insert: ', LZ4' },
      { label: '200,000 rows, ZSTD', insert: ', ZSTD' },
    ],
    cell: inverse(1, 2, perMedian),
  },
  cold: {
    file: 'cold',
    corner: '',
    lines: [
      ['get, evenly', 'get, *'],
      ['the same, by p50', 'get, *', times(perMedian, ...PEERS)],
      ['get, zipf 0.99', 'get by zipf, *'],
      ['the same, by p50', 'get by zipf, *', times(perMedian, ...PEERS)],
      ['miss', 'miss, *'],
      ['range of 50', 'range of 50, *'],
      ['full scan', 'full scan, *'],
    ],
    columns: [
      {
        label: '1,000,000 rows of 100 bytes, cache 16 MiB',
        insert: '1000000 rows of 100 bytes, digits, cache 16 MiB',
      },
      { label: '100,000 of 1 KB, 16 MiB', insert: '100000 rows of 1000 bytes, digits, cache 16 MiB' },
      {
        label: '10,000,000 of 100 bytes, 128 MiB',
        insert: '10000000 rows of 100 bytes, digits, cache 128 MiB',
      },
      { label: '1,000,000 of 1 KB, 128 MiB', insert: '1000000 rows of 1000 bytes, digits, cache 128 MiB' },
    ],
    cell: times(clock, ...PEERS),
  },
  entities: {
    file: 'orm',
    corner: '',
    lines: [
      ...['insert', 'put'].map(
        (write) => [`${write}, batches of 100, a sync each`, `${write}, batches of 100, fsync each`] as const,
      ),
      ...linesOf(['get by key', 'range of 50, hydrated', 'full read, hydrated']),
      ...['one after the other', '16 at once'].map(
        (way) =>
          [
            `transaction of a get and an update, a sync each, ${way}`,
            `transaction of a get and an update, fsync each, ${way}`,
          ] as const,
      ),
    ],
    columns: [
      { label: 'Rowan, a second', contestant: 'rowan', cell: value(0) },
      ...[
        ['x Drizzle', 'drizzle'],
        ['x Drizzle by `values()`', 'drizzle values()'],
        ['x TypeORM', 'typeorm'],
        ['x MikroORM', 'mikro-orm'],
      ].map(([label, peer]) => ({ label: label!, cell: CLOCK_AND_CPU(peer!) })),
    ],
    cell: value(0),
  },
  files: {
    file: 'files',
    corner: '',
    lines: linesOf(['import of CSV', 'import of NDJSON', 'export to CSV', 'export to NDJSON']),
    columns: [
      { label: 'Rowan, rows/s', contestant: 'rowan', cell: value(0) },
      { label: 'x Drizzle', cell: CLOCK_AND_CPU('drizzle') },
    ],
    cell: value(0),
  },
  threads: {
    file: 'threads',
    corner: '',
    lines: [
      ['`count()`', 'count'],
      ['`where({ status }).count()`, four at once', 'count of a condition'],
      ["`groupBy('status')`, a count, a sum, a maximum", 'figures'],
      ['`all()`', 'all'],
      ['job with map, combine, reduce', 'job'],
      ['index build', 'index build'],
      ['index verification', 'index verify'],
      ['`verify()` of the store', 'store verify'],
    ],
    columns: [
      { label: 'rate, x one thread', cell: times(clock, 'one thread') },
      { label: 'rows for a second of CPU time, x one thread', cell: times(processor, 'one thread') },
    ],
    cell: value(2),
  },
  'ycsb by the clock': {
    file: 'ycsb',
    corner: '',
    lines: [['load, 1,000 records a batch', 'load, *, 1000000 records, not synced'], ...YCSB_LINES],
    columns: YCSB_PEERS.map(({ contestants, insert, peers }) => ({
      label: `${insert}, x ${contestants}`,
      insert,
      cell: times(clock, ...peers),
    })),
    cell: value(2),
  },
  ycsb: {
    file: 'ycsb',
    corner: '',
    lines: [
      ...YCSB_LINES,
      ...Object.entries(BYTES).map(
        ([label, title]) => [label, `${title}, *, 1000000 records, not synced`] as const,
      ),
    ],
    columns: YCSB_PEERS.map(({ contestants, insert, peers }) => ({
      label: `${insert}, x ${contestants}`,
      insert,
      cell: cpuOrRatio(...peers),
    })),
    cell: value(2),
  },
  life: {
    file: 'life',
    corner: '',
    lines: [
      ['updates a second', `updates, each with a read, ${LIFE}`, value(0)],
      [
        'CPU time of an update and a read, us',
        `operations for a second of CPU time, ${LIFE}`,
        inverse(1e6, 0),
      ],
      ['update, p99.9, ms', `update, p99.9, ${LIFE}`, inverse(1e3, 1)],
      ['read, p50, us', `read, p50, ${LIFE}`, inverse(1e6, 1)],
      ['read, p99, ms', `read, p99, ${LIFE}`, inverse(1e3, 2)],
      ['read, p99.9, ms', `read, p99.9, ${LIFE}`, inverse(1e3, 1)],
      ['bytes written for one given, log included', `bytes given for one written, ${LIFE}`, inverse(1, 2)],
      [
        'bytes on the disk for one of rows, log included',
        `bytes of rows for one on the disk, ${LIFE}`,
        inverse(1, 2),
      ],
      ['files a family', `1 / files a family, ${LIFE}`, inverse(1, 0)],
    ],
    columns: [
      { label: 'first third', contestant: 'first third' },
      { label: 'last third', contestant: 'rowan' },
    ],
    cell: value(2),
  },
  limits: {
    file: 'limits',
    corner: '',
    lines: [
      [
        'resident memory while 10,000,000 cells are loaded, MB',
        'resident memory while 10M cells are loaded (limit 700 MB / figure)',
        inverse(700, 0),
      ],
      [
        'longest put of 1,000 rows while loading, ms',
        'longest put of 1000 rows while loading (limit 2000 ms / figure)',
        inverse(2000, 0),
      ],
      [
        'p99 delay of a timer of 10 ms while 1,435 MiB are compacted, ms',
        'p99 delay of a 10 ms timer while 1435 MiB compact (limit 50 ms / figure)',
        inverse(50, 1),
      ],
      [
        'space after a major compaction, x the live data',
        'space after major compaction (limit 1.1 x the live data / figure)',
        inverse(1.1, 2),
      ],
    ],
    columns: [{ label: 'measured', contestant: 'rowan' }],
    cell: value(2),
  },
  start: {
    file: 'start',
    corner: 'ms by the clock / ms of CPU / MiB',
    lines: [
      ['import', 'import'],
      ['process to first get of 1,000 rows', 'first get'],
    ],
    columns: ['rowan', 'drizzle', 'typeorm', 'mikro-orm', 'classic-level'].map((contestant) => ({
      label: contestant,
      contestant,
    })),
    cell: START,
  },
  commands: {
    file: 'start',
    corner: '',
    lines: [
      ...linesOf(['rowan --help', 'rowan ddl', 'rowan store stats']).map(
        ([label, title]) => [`\`${label}\`, beside \`node -e 0\``, `command: ${title}`] as const,
      ),
      ['a file of Vitest that opens a database in memory, beside an empty one', 'test file: openMemory'],
      ['a thread for flushes and compactions, beside an empty one', 'thread: of flushes and compactions'],
    ],
    columns: [
      { label: 'ms', contestant: 'rowan', cell: inverse(1000, 0) },
      { label: 'ms of CPU', contestant: 'rowan', cell: inverse(1000, 0, processor) },
      { label: 'times as long', cell: longer(clock) },
      { label: 'by CPU time', cell: longer(processor) },
    ],
    cell: value(2),
  },
  types: {
    file: 'types',
    corner: "of Drizzle's time",
    lines: [
      ['classes', '500 queries of 100 classes'],
      ['`defineEntity`', '500 queries of 100 entities by defineEntity'],
      ['an import alone', 'an import alone'],
    ],
    columns: [
      { label: 'by the clock', cell: longer(clock) },
      { label: 'by CPU time', cell: longer(processor) },
    ],
    cell: value(2),
  },
  hbase: {
    file: 'hbase',
    corner: 'x `PerformanceEvaluation`',
    lines: linesOf(
      [
        'random read',
        'multi-get of 100',
        'scan',
        'scan, 1,000 rows a call',
        'single write',
        'buffered write',
        'increment',
        'append',
        'checkAndPut',
      ],
      ', *',
    ),
    columns: [
      ...columnsOf(CLIENTS),
      ...CLIENTS.map((insert) => ({
        label: `rows/s, ${insert}`,
        insert,
        contestant: 'rowan',
        cell: value(0),
      })),
    ],
    cell: times(clock, 'PerformanceEvaluation'),
  },
  followers: {
    file: 'hbase',
    corner: 'x plain rows',
    lines: [
      ['an index', 'followers: index, *'],
      ['an eventual index', 'followers: eventual index, *'],
      ['a unique index', 'followers: unique, *'],
      ['a summary', 'followers: summary, *'],
      ['copies of a column of another entity', 'followers: copies, *'],
      ['recorded changes', 'followers: changes, *'],
      ['an eventual index, until all is done', 'followers: eventual index, *, settled'],
      ['a summary, until all is done', 'followers: summary, *, settled'],
    ],
    columns: columnsOf([...CLIENTS, 'putMany of 100']),
    cell: times(clock, 'plain'),
  },
  bigtable: {
    file: 'bigtable',
    corner: '',
    lines: linesOf(['get', 'getMany of 100', 'put', 'putMany of 100', 'increment', 'scan'], ', *'),
    columns: columnsOf(CLIENTS),
    cell: CLOCK_AND_CPU('google'),
  },
  serve: {
    file: 'serve',
    corner: '',
    lines: linesOf(
      [
        'random read',
        'multi-get of 100',
        'scan, 1,000 rows a call',
        'random write, synced',
        'sequential write, synced',
        'increment, synced',
      ],
      ', *',
    ),
    columns: [
      ...columnsOf(CLIENTS),
      ...CLIENTS.map((insert) => ({
        label: `rows/s, ${insert}`,
        insert,
        contestant: 'rowan',
        cell: value(0),
      })),
    ],
    cell: CLOCK_AND_CPU('HBase'),
  },
  'serve, at rest': {
    file: 'serve',
    corner: '',
    lines: [
      ['start to first answer, ms', 'start to first answer'],
      ['memory when idle, MB', 'memory when idle'],
      ['memory when loaded, MB', 'memory when loaded'],
    ],
    columns: [
      { label: '`rowan serve`', contestant: 'rowan' },
      { label: 'HBase', contestant: 'HBase' },
    ],
    cell: value(0),
  },
  studio: {
    file: 'studio',
    corner: '',
    lines: [
      ...['a table', 'an entity'].flatMap((what) =>
        ['the first time', 'median', 'slowest'].map(
          (which) => [`first view of ${what}, ${which}, ms`, `first view of ${what}, ${which}`] as const,
        ),
      ),
      ['frames while 1,000,000 rows are scrolled, 95 in 100, ms', 'scroll of 1000000 rows, frame p95'],
      ["the page's heap then, MiB", 'heap of the page behind it'],
    ],
    columns: [
      { label: 'measured', contestant: 'rowan' },
      { label: 'at most', contestant: 'goal' },
    ],
    cell: value(0),
  },
};

const BLOCK = /(<!-- bench: (.+?) -->\n)[\s\S]*?(<!-- \/bench -->)/g;

/** The pages with their tables made anew. Throws if a page names a table that is not here, or one here is on no page. */
export function pagesWithTables(): ReadonlyMap<string, string> {
  const unused = new Set(Object.keys(TABLES));
  const pages = new Map<string, string>();
  for (const page of PAGES) {
    const text = readFileSync(page, 'utf8').replaceAll(
      BLOCK,
      (_, begin: string, name: string, end: string) => {
        unused.delete(name);
        return `${begin}${tableOf(name)}\n${end}`;
      },
    );
    pages.set(page, text);
  }
  if (unused.size > 0) throw new Error(`on no page: ${[...unused].join(', ')}`);
  return pages;
}

function tableOf(name: string): string {
  const grid = TABLES[name];
  if (grid === undefined) throw new Error(`no table "${name}" in test/bench/tables.ts`);
  const file = join(RESULTS, `${grid.file}.json`);
  return render(grid, JSON.parse(readFileSync(file, 'utf8')) as readonly BenchRow[]);
}

export function writeTables(): void {
  for (const [page, text] of pagesWithTables()) writeFileSync(page, text);
}

/** The files of results that no table shows. */
export function filesWithoutTable(): string[] {
  const shown = new Set(Object.values(TABLES).map(({ file }) => `${file}.json`));
  return readdirSync(RESULTS).filter((file) => !shown.has(file));
}
