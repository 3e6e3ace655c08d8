/** `kill -9` of the server under writers: what was acknowledged is there, counters are exact, and no client hangs. */

import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import { Get, Increment, Put, type Table, tableDescriptor } from '../../src/table/index.js';
import { PROJECT_ROOT } from '../hbase/server/layout.js';
import { runJava } from '../hbase/server/tool.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { ServedStore } from './served-store.js';

const KILLS = scaled(5, 20, 100);
/** Milliseconds within which all kills are done, on a busy machine too. */
const PATIENCE = 300_000 + 60_000 * KILLS;
/** Of each kind. */
const WRITERS = 8;
const TABLE = 'kills';

/** Settings of a Java client that soon finds a server that was started again. */
const PERSISTENT = {
  'hbase.client.pause': '20',
  'hbase.client.retries.number': '200',
  'hbase.client.operation.timeout': '120000',
  'hbase.ipc.client.failed.servers.expiry': '20',
};

describe('a served store that is killed', () => {
  let store: ServedStore;
  beforeAll(async () => {
    store = await ServedStore.start();
  });
  afterAll(() => store.stop());

  /** Writes until `running` is false; returns how much was acknowledged. */
  async function writeWith(engine: HBaseEngine, writer: string, isRunning: () => boolean): Promise<number> {
    const table = engine.table(TABLE);
    let written = 0;
    while (isRunning()) {
      await table.put(new Put(`${writer}-${written}`).addColumn('f', 'q', String(written)));
      await table.increment(new Increment(writer).addColumn('f', 'n', 1));
      written++;
    }
    return written;
  }

  /** The counters of these writers. */
  async function countsOf(table: Table, names: readonly string[]): Promise<bigint[]> {
    const counters = await table.getAll(names.map((name) => new Get(name).addColumn('f', 'n')));
    return counters.map((found) =>
      found.isEmpty ? 0n : Buffer.from(found.getValue('f', 'n')!).readBigInt64BE(),
    );
  }

  /** Resolves when each of these writers has written since the server was started. */
  async function allWrote(table: Table, names: readonly string[], ended: Promise<never>): Promise<void> {
    const before = await countsOf(table, names);
    while ((await countsOf(table, names)).some((count, n) => count <= before[n]!))
      await Promise.race([ended, delay(20)]);
  }

  async function checkWriter(table: Table, writer: string, written: number): Promise<void> {
    expect(written).toBeGreaterThan(0);
    const gets = Array.from({ length: written }, (_, n) => new Get(`${writer}-${n}`));
    const lost = (await table.getAll(gets)).flatMap((result, n) => (result.isEmpty ? [n] : []));
    expect(lost, writer).toEqual([]);
    const counter = (await table.get(new Get(writer))).getValue('f', 'n')!;
    expect(Number(Buffer.from(counter).readBigInt64BE()), writer).toBe(written);
  }

  it(
    `${KILLS} times under ${WRITERS} writers in Java and ${WRITERS} of this package loses no acknowledged put, and counts each increment once`,
    async () => {
      const connect = (): Promise<HBaseEngine> =>
        connectHBase({ masters: [store.endpoint], pause: 20, retries: 200, operationTimeout: 120_000 });
      const engines = await Promise.all(Array.from({ length: WRITERS }, connect));
      const [first] = engines as [HBaseEngine];
      await first.admin.createTable(tableDescriptor(TABLE, { f: {} }), [Buffer.from('w4')]);
      const table = first.table(TABLE);
      const layout = await store.layout('bootstrap', PERSISTENT);
      const stop = join(store.folder, 'stop');
      const program = readFileSync(join(PROJECT_ROOT, 'test/hbase-served/java/Writers.java'), 'utf8');
      const java = runJava(layout, { Writers: program }, 'Writers', [TABLE, String(WRITERS), stop]);
      const names = engines.map((_, n) => `w${n}`);
      let running = true;
      const writers = engines.map((engine, n) => writeWith(engine, names[n]!, () => running));
      const ended = java.then((output): never => {
        throw new Error(`The writers in Java ended before they were told to: ${output}`);
      });
      ended.catch(() => undefined);
      const everybody = [...names, ...names.map((_, n) => `j${n}`)];
      for (let kill = 0; kill < KILLS; kill++) {
        // Otherwise a busy machine kills the server again before some clients have found it.
        await allWrote(table, everybody, ended);
        await delay(200 * Math.random());
        await store.crash();
      }
      running = false;
      await writeFile(stop, '');
      const written = await Promise.all(writers);
      const output = await java;
      expect(output.match(/^FAILED.*$/gm) ?? []).toEqual([]);
      for (const [, name, count] of output.matchAll(/^WRITTEN (\w+) (\d+)$/gm)) {
        names.push(name!);
        written.push(Number(count));
      }
      expect(names).toHaveLength(2 * WRITERS);
      for (const [n, name] of names.entries()) await checkWriter(table, name, written[n]!);
      for (const engine of engines) await engine.close();
      const acknowledged = written.reduce((sum, each) => sum + each, 0);
      record('served-kills', {
        kills: KILLS,
        clients: names.length,
        'acknowledged puts': acknowledged,
        'acknowledged increments': acknowledged,
      });
    },
    PATIENCE,
  );

  it('ends at SIGTERM with code 0, and what it acknowledged is there when it is started again', async () => {
    const engine = await connectHBase({ masters: [store.endpoint], pause: 20, retries: 100 });
    await engine.table(TABLE).put(new Put('last').addColumn('f', 'q', 'v'));
    expect(await store.terminate()).toBe(0);
    await store.crash();
    expect((await engine.table(TABLE).get(new Get('last'))).isEmpty).toBe(false);
    await engine.close();
  });
});
