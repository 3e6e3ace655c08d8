/** Where an increment whose answer was lost is sent again: servers learn nonces from the log alone, and from it once. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import { Get, Increment, Put, RowMutations, type Table } from '../../src/table/index.js';
import { cellBlock, type WireCell } from './fake-cells.js';
import { answerFrame, FakePeer, type Request, readScanRequest } from './fake-peer.js';

const VERSIONS = 3;

/** A state of a region as meta keeps it; of one that is open, with the server and its start code, 1 if left out. */
type State = readonly [state: string, server?: () => string, startCode?: number];

describe('a change whose answer was lost', () => {
  /** The registry and meta; then the servers of the region, one after the other. */
  let meta: FakePeer;
  let first: FakePeer;
  let second: FakePeer;
  let third: FakePeer;
  let engine: HBaseEngine;
  let table: Table;
  /** The states of the region, newest first. */
  let states: readonly State[];
  let histories: number;

  const atFirst = (): string => first.address;
  const atSecond = (): string => second.address;
  const atThird = (): string => third.address;

  beforeEach(async () => {
    histories = 0;
    meta = await FakePeer.start((request) => request.method === 'Scan' && answerHistory(request));
    first = await FakePeer.start();
    second = await FakePeer.start();
    third = await FakePeer.start();
    meta.places.set('t', first.address);
    engine = await connectHBase({ masters: [meta.address], pause: 1, quarantine: 0 });
    table = engine.table('t');
    await table.get(new Get('warm'));
  });
  afterEach(async () => {
    await engine.close();
    for (const peer of [meta, first, second, third]) await peer.stop();
  });

  function answerHistory(request: Request): boolean {
    const { scan } = readScanRequest(request);
    if (scan?.maxVersions !== VERSIONS) return false;
    histories++;
    const row = Buffer.from(scan.startRow!).toString('latin1');
    const cells = (qualifier: string, value: (state: State) => Uint8Array | string | undefined): WireCell[] =>
      states.flatMap((state, n) => {
        const found = value(state);
        return found === undefined ? [] : [[row, 'info', qualifier, 100 - n, 4, found] as WireCell];
      });
    const found = [
      ...cells('server', ([, server]) => server?.()),
      ...cells(
        'serverstartcode',
        ([, server, code = 1]) => server && Buffer.from([0, 0, 0, 0, 0, 0, 0, code]),
      ),
      ...cells('state', ([state]) => state),
    ];
    const counts = Uint8Array.of(0x08, found.length, 0x18, 0, 0x40, 0);
    request.connection.raw(answerFrame(request.id, counts, cellBlock(found)));
    return true;
  }

  /** The server dies with the answer to its first change, and the region goes to the next one. */
  function dies(server: FakePeer, next: FakePeer): void {
    server.handler = ({ method, connection }) => {
      if (method !== 'Mutate' && method !== 'Multi') return false;
      meta.places.set('t', next.address);
      connection.socket.destroy();
      return true;
    };
  }

  const increment = (): Increment => new Increment('r').addColumn('f', 'q', 1);
  const isUnknown = { code: 'ERR_CONNECTION', retryable: false, details: { outcome: 'unknown' } };

  it('is repeated at the server that recovered the region from the log of the first', async () => {
    dies(first, second);
    states = [['OPEN', atSecond], ['OPENING'], ['OPEN', atFirst]];
    await table.increment(increment());
    expect(second.of('Mutate')).toHaveLength(1);
    expect(histories).toBe(1);
  });

  it.each<[string, readonly State[]]>([
    ['moved in good order', [['OPEN', atSecond], ['OPENING'], ['CLOSED']]],
    ['recovered twice', [['OPEN', atSecond], ['OPENING'], ['OPEN', atThird]]],
    ['opened at the second attempt', [['OPEN', atSecond], ['OPENING'], ['OPENING'], ['OPEN', atFirst]]],
    ['lost again while it was opened', [['OPEN', atSecond], ['OPENING'], ['ABNORMALLY_CLOSED']]],
    ['about to move on', [['CLOSING'], ['OPEN', atSecond], ['OPENING'], ['OPEN', atFirst]]],
    ['recovered elsewhere by now', [['OPEN', atThird], ['OPENING'], ['OPEN', atFirst]]],
    ['of a meta that keeps one version', [['OPEN', atSecond]]],
    ['recovered from another process', [['OPEN', atSecond], ['OPENING'], ['OPEN', atFirst, 2]]],
    ['unknown to meta', []],
  ])('has an unknown outcome, and is not sent again, when its region was %s', async (_what, history) => {
    dies(first, second);
    states = history;
    await expect(table.increment(increment())).rejects.toMatchObject(isUnknown);
    expect(second.of('Mutate')).toHaveLength(0);
    expect(histories).toBe(1);
  });

  it('says where its answer was lost, who has the region, and to read the row', async () => {
    dies(first, second);
    states = [['OPEN', atSecond], ['OPENING'], ['CLOSED']];
    const error = (await table.increment(increment()).catch((reason: unknown) => reason)) as Error;
    expect(error.message).toContain(`from ${first.address} was lost`);
    expect(error.message).toContain(`${second.address}, which has the region now`);
    expect(error.message).toMatch(/Read the row to find out\.$/);
  });

  it('is not repeated at a third server, though the second had recovered its region', async () => {
    dies(first, second);
    states = [['OPEN', atSecond], ['OPENING'], ['OPEN', atFirst]];
    second.handler = ({ method, connection }) => {
      if (method !== 'Mutate') return false;
      states = [['OPEN', atThird], ['OPENING'], ['OPEN', atSecond]];
      meta.places.set('t', third.address);
      connection.socket.destroy();
      return true;
    };
    await expect(table.increment(increment())).rejects.toMatchObject(isUnknown);
    expect(third.of('Mutate')).toHaveLength(0);
  });

  it('and whose region was renamed, as by a split, has an unknown outcome', async () => {
    dies(first, second);
    states = [['OPEN', atSecond], ['OPENING'], ['OPEN', atFirst]];
    meta.renewRegions();
    await expect(table.increment(increment())).rejects.toMatchObject(isUnknown);
    expect(histories).toBe(0);
  });

  it('is not repeated at a process that was started at the address of the first, unless it recovered the region', async () => {
    dies(first, first);
    meta.startCode = 2n;
    states = [['OPEN', atFirst, 2], ['OPENING'], ['CLOSED']];
    await expect(table.increment(increment())).rejects.toMatchObject(isUnknown);
    expect(first.of('Mutate')).toHaveLength(1);
    expect(histories).toBe(1);
  });

  it('is repeated at the same server without a look at meta', async () => {
    let isLost = false;
    first.handler = ({ method, connection }) => {
      if (method !== 'Mutate' || isLost) return false;
      isLost = true;
      connection.socket.destroy();
      return true;
    };
    await table.increment(increment());
    expect(first.of('Mutate')).toHaveLength(2);
    expect(histories).toBe(0);
  });

  it('holds for increments among the mutations of a row; a put is repeated without a look', async () => {
    dies(first, second);
    states = [['OPEN', atSecond], ['OPENING'], ['CLOSED']];
    const put = new Put('r').addColumn('f', 'p', 'v');
    const changes = new RowMutations('r').add(put, increment());
    await expect(table.mutateRow(changes)).rejects.toMatchObject(isUnknown);
    dies(second, third);
    await table.put(put);
    expect(third.of('Mutate')).toHaveLength(1);
    expect(histories).toBe(1);
  });

  it('needs no look where the answer was that the region had gone', async () => {
    first.handler = ({ method, id, connection }) => {
      if (method !== 'Mutate') return false;
      meta.places.set('t', second.address);
      connection.fail(id, 'org.apache.hadoop.hbase.NotServingRegionException');
      return true;
    };
    await table.increment(increment());
    expect(second.of('Mutate')).toHaveLength(1);
    expect(histories).toBe(0);
  });
});
