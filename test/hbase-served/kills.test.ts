/** `kill -9` of the server under writers: what was acknowledged is there, counters are exact, and no client hangs. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import { Get, Increment, Put, tableDescriptor } from '../../src/table/index.js';
import { ServedStore } from './served-store.js';

const KILLS = Number(process.env['ROWAN_KILLS'] ?? 5);
const WRITERS = 8;
const TABLE = 'kills';

describe('a served store that is killed', () => {
  let store: ServedStore;
  beforeAll(async () => {
    store = await ServedStore.start();
  });
  afterAll(() => store.stop());

  it(`${KILLS} times under ${WRITERS} writers loses no acknowledged put, and counts each increment once`, async () => {
    const connect = (): Promise<HBaseEngine> =>
      connectHBase({ masters: [store.endpoint], pause: 20, retries: 100, operationTimeout: 60_000 });
    const engines = await Promise.all(Array.from({ length: WRITERS }, connect));
    await engines[0]!.admin.createTable(tableDescriptor(TABLE, { f: {} }), [Buffer.from('w4')]);
    let running = true;
    const written = engines.map(() => 0);
    const counted = engines.map(() => 0);
    const writers = engines.map(async (engine, writer) => {
      const table = engine.table(TABLE);
      while (running) {
        const n = written[writer]!;
        await table.put(new Put(`w${writer}-${n}`).addColumn('f', 'q', String(n)));
        written[writer] = n + 1;
        await table.increment(new Increment(`w${writer}`).addColumn('f', 'n', 1));
        counted[writer]!++;
      }
    });
    for (let kill = 0; kill < KILLS; kill++) {
      await new Promise<void>((resolve) => setTimeout(resolve, 300 + 200 * Math.random()));
      await store.crash();
    }
    running = false;
    await Promise.all(writers);
    const table = engines[0]!.table(TABLE);
    for (const [writer, count] of written.entries()) {
      expect(count).toBeGreaterThan(0);
      const gets = Array.from({ length: count }, (_, n) => new Get(`w${writer}-${n}`));
      const lost = (await table.getAll(gets)).flatMap((result, n) => (result.isEmpty ? [n] : []));
      expect(lost).toEqual([]);
      const counter = (await table.get(new Get(`w${writer}`))).getValue('f', 'n')!;
      expect(Number(Buffer.from(counter).readBigInt64BE())).toBe(counted[writer]);
    }
    for (const engine of engines) await engine.close();
  });

  it('ends at SIGTERM with code 0, and what it acknowledged is there when it is started again', async () => {
    const engine = await connectHBase({ masters: [store.endpoint], pause: 20, retries: 100 });
    await engine.table(TABLE).put(new Put('last').addColumn('f', 'q', 'v'));
    expect(await store.terminate()).toBe(0);
    await store.crash();
    expect((await engine.table(TABLE).get(new Get('last'))).isEmpty).toBe(false);
    await engine.close();
  });
});
