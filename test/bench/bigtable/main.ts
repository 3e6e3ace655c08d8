/**
 * `npm run bench:bigtable [-- --rounds N] [--rows N] [--json FILE]`: Rowan's Bigtable engine beside Google's client alone, on one emulator,
 * in turn, by 1 and by 16 clients. The emulator is the same for both, so what differs is the work of the clients.
 */

import { Bigtable, type Table as GoogleTable } from '@google-cloud/bigtable';
import { connectBigtableEngine } from '../../../src/bigtable/engine.js';
import { Get, Increment, Put, Scan, type Table, tableDescriptor } from '../../../src/table/index.js';
import { Emulator } from '../../bigtable/emulator/emulator.js';
import { type BenchRow, compareRates, report, rowLine, toRow } from '../harness.js';

const FAMILY = 'f';
const QUALIFIER = Buffer.from('v');
const COUNTER = Buffer.from('n');
const VALUE = Buffer.alloc(100, 'the quick brown fox ');
const BATCH = 100;
const CLIENTS = [1, 16] as const;

const rounds = Number(optionOf('--rounds') ?? 15);
const scanned = Number(optionOf('--rows') ?? 10_000);

function optionOf(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

const keyOf = (index: number): string => `row-${String(index).padStart(8, '0')}`;

/** The operations of a contestant; each answers how many rows it has read or written. */
interface Contestant {
  get(key: string): Promise<number>;
  getMany(keys: readonly string[]): Promise<number>;
  put(key: string): Promise<number>;
  putMany(keys: readonly string[]): Promise<number>;
  increment(key: string): Promise<number>;
  scan(): Promise<number>;
}

function rowan(table: Table): Contestant {
  const putOf = (key: string): Put => new Put(Buffer.from(key)).addColumn(FAMILY, QUALIFIER, VALUE);
  return {
    get: async (key) => (await table.get(new Get(Buffer.from(key)))).cells.length,
    getMany: async (keys) => (await table.getAll(keys.map((key) => new Get(Buffer.from(key))))).length,
    put: async (key) => {
      await table.put(putOf(key));
      return 1;
    },
    putMany: async (keys) => {
      await table.putAll(keys.map(putOf));
      return keys.length;
    },
    increment: async (key) => {
      await table.increment(new Increment(Buffer.from(key)).addColumn(FAMILY, COUNTER, 1n));
      return 1;
    },
    scan: async () => {
      let count = 0;
      for await (const _ of table.scan(new Scan().setLimit(scanned))) count++;
      return count;
    },
  };
}

function google(table: GoogleTable): Contestant {
  const data = { [FAMILY]: { [QUALIFIER.toString()]: VALUE } };
  return {
    get: async (key) => {
      await table.row(key).get({ decode: false });
      return 1;
    },
    getMany: async (keys) => (await table.getRows({ keys: [...keys], decode: false }))[0].length,
    put: async (key) => {
      await table.row(key).save(data);
      return 1;
    },
    putMany: async (keys) => {
      await table.insert(keys.map((key) => ({ key, data })));
      return keys.length;
    },
    increment: async (key) => {
      await table.row(key).increment(`${FAMILY}:${COUNTER}`, 1);
      return 1;
    },
    scan: async () => {
      let count = 0;
      for await (const _ of table.createReadStream({ limit: scanned, decode: false })) count++;
      return count;
    },
  };
}

/** `total` steps by so many clients, each of which begins a step when its last one has ended. */
async function byClients(
  clients: number,
  total: number,
  step: (at: number) => Promise<number>,
): Promise<number> {
  let next = 0;
  let done = 0;
  const client = async (): Promise<void> => {
    while (next < total) {
      const rows = await step(next++);
      done += rows;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return done;
}

/** Keys of the rows that are there, drawn evenly; the same for each contestant. */
function drawn(at: number): string {
  return keyOf((Math.imul(at + 1, 0x9e3779b1) >>> 0) % scanned);
}

const keysAt = (at: number): string[] => Array.from({ length: BATCH }, (_, i) => drawn(at * BATCH + i));

/** The steps of a round are few and the rounds many, so that a busy moment of the machine meets both contestants. */
const OPERATIONS: Readonly<
  Record<string, { steps: number; step: (contestant: Contestant, at: number) => Promise<number> }>
> = {
  get: { steps: 400, step: (contestant, at) => contestant.get(drawn(at)) },
  'getMany of 100': { steps: 12, step: (contestant, at) => contestant.getMany(keysAt(at)) },
  put: { steps: 400, step: (contestant, at) => contestant.put(drawn(at)) },
  'putMany of 100': { steps: 12, step: (contestant, at) => contestant.putMany(keysAt(at)) },
  increment: { steps: 400, step: (contestant, at) => contestant.increment(drawn(at)) },
  scan: { steps: 1, step: (contestant) => contestant.scan() },
};

const emulator = await Emulator.start();
try {
  const place = { projectId: 'rowan', instanceId: 'bench' };
  const engine = await connectBigtableEngine({ ...place, emulatorHost: emulator.host });
  await engine.admin.createTable(tableDescriptor('bench', { [FAMILY]: {} }));
  process.env['BIGTABLE_EMULATOR_HOST'] = emulator.host;
  const client = new Bigtable({ projectId: place.projectId, metricsEnabled: false } as object);
  const contestants = {
    rowan: rowan(engine.table('bench')),
    google: google(client.instance(place.instanceId).table('bench')),
  };
  for (let at = 0; at < scanned; at += BATCH)
    await contestants.rowan.putMany(Array.from({ length: BATCH }, (_, i) => keyOf(at + i)));
  const rows: BenchRow[] = [];
  for (const [name, { steps, step }] of Object.entries(OPERATIONS)) {
    for (const clients of CLIENTS) {
      const measured = Object.fromEntries(
        Object.entries(contestants).map(([of, contestant]) => [
          of,
          () => byClients(clients, clients === 1 ? steps : steps * 2, (at) => step(contestant, at)),
        ]),
      );
      const { wall, processor } = await compareRates(measured, rounds);
      const row = {
        ...toRow(`${name}, ${clients} client${clients === 1 ? '' : 's'}`, 'rows/s', wall),
        processor,
      };
      console.log(rowLine(row));
      rows.push(row);
    }
  }
  report(rows);
  await engine.close();
  await client.close();
} finally {
  await emulator.kill();
}
