/** What is measured: the commands of HBase's PerformanceEvaluation, and the same of ours. */

export const TABLE = 'TestTable';
export const FAMILY = 'info0';
export const COLUMN = '0';
export const VALUE_LENGTH = 100;

export type Operation =
  | 'random read'
  | 'multi-get of 100'
  | 'single write'
  | 'single write of an entity'
  | 'buffered write'
  | 'buffered write of entities'
  | 'scan'
  | 'scan, 1,000 rows a call'
  | 'increment'
  | 'append'
  | 'checkAndPut';

export interface Workload {
  readonly operation: Operation;
  /** PerformanceEvaluation's command and its options. */
  readonly command: string;
  readonly arguments: readonly string[];
  /** Rows of each client, so that a run takes some seconds; for 1 client, and for 16. */
  readonly rows: { readonly 1: number; readonly 16: number };
  /** The ratios that Rowan is to reach. */
  readonly goals: { readonly 1: number; readonly 16: number };
}

const SINGLE_WRITE: Omit<Workload, 'operation'> = {
  command: 'randomWrite',
  arguments: ['--autoFlush=true'],
  rows: { 1: 20_000, 16: 3_000 },
  goals: { 1: 1.5, 16: 1.5 },
};

const BUFFERED_WRITE: Omit<Workload, 'operation'> = {
  command: 'randomWrite',
  arguments: ['--autoFlush=false'],
  rows: { 1: 250_000, 16: 30_000 },
  goals: { 1: 1.5, 16: 1 },
};

export const WORKLOADS: readonly Workload[] = [
  {
    operation: 'random read',
    command: 'randomRead',
    arguments: [],
    rows: { 1: 20_000, 16: 3_000 },
    goals: { 1: 1.1, 16: 2 },
  },
  {
    operation: 'multi-get of 100',
    command: 'randomRead',
    arguments: ['--multiGet=100'],
    rows: { 1: 150_000, 16: 20_000 },
    goals: { 1: 1.1, 16: 1.6 },
  },
  { operation: 'single write', ...SINGLE_WRITE },
  { operation: 'single write of an entity', ...SINGLE_WRITE },
  { operation: 'buffered write', ...BUFFERED_WRITE },
  { operation: 'buffered write of entities', ...BUFFERED_WRITE },
  {
    operation: 'scan',
    command: 'scan',
    arguments: ['--caching=30'],
    rows: { 1: 95_000, 16: 25_000 },
    goals: { 1: 1.1, 16: 1.1 },
  },
  {
    operation: 'scan, 1,000 rows a call',
    command: 'scan',
    arguments: ['--caching=1000'],
    rows: { 1: 600_000, 16: 100_000 },
    goals: { 1: 1.1, 16: 2.5 },
  },
  {
    operation: 'increment',
    command: 'increment',
    arguments: [],
    rows: { 1: 15_000, 16: 2_500 },
    goals: { 1: 1.1, 16: 1.5 },
  },
  {
    operation: 'append',
    command: 'append',
    arguments: [],
    rows: { 1: 15_000, 16: 2_500 },
    goals: { 1: 1.1, 16: 1.5 },
  },
  {
    operation: 'checkAndPut',
    command: 'checkAndPut',
    arguments: [],
    rows: { 1: 8_000, 16: 1_500 },
    goals: { 1: 1.1, 16: 1.1 },
  },
];

/** The row of a number, as PerformanceEvaluation writes it: 26 decimal digits. */
export function formatRow(number: number): Buffer {
  const row = Buffer.alloc(26, 0x30);
  let rest = number;
  for (let at = 25; rest > 0; at--) {
    row[at] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  return row;
}
