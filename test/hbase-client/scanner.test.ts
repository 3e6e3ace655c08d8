import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import { Result, Scan } from '../../src/table/index.js';
import { cellBlock, type WireCell } from './fake-cells.js';
import { ScanResponse } from './fake-messages.js';
import { FakePeer, type Request, readScanRequest } from './fake-peer.js';

/** An answer to a request of the scan: rows as strings of "row:cell", and the flags of the response. */
interface Answer {
  readonly pieces?: readonly (readonly string[])[];
  readonly partial?: readonly boolean[];
  /** Cells of each result, as the answer says; default: as they are. */
  readonly counts?: readonly number[];
  readonly more?: boolean;
  readonly moreInRegion?: boolean;
  readonly heartbeat?: boolean;
  readonly fail?: string;
  readonly drop?: boolean;
  readonly ttl?: number;
  readonly stale?: boolean;
  readonly readPoint?: bigint;
  /** Called before the answer is sent. */
  readonly before?: () => void;
}

const SCANNER = 2n ** 63n + 5n;

describe('a scan', () => {
  let peer: FakePeer;
  let engine: HBaseEngine;
  let script: Answer[];
  let asked: ReturnType<typeof readScanRequest>[];
  /** Whether scans of `hbase:meta` are answered by the script too. */
  let scriptsMeta: boolean;

  beforeEach(async () => {
    script = [];
    asked = [];
    scriptsMeta = false;
    peer = await FakePeer.start((request) => answer(request));
    engine = await connectHBase({ masters: [peer.address], pause: 1, quarantine: 0 });
  });
  afterEach(async () => {
    await engine.close();
    await peer.stop();
  });

  const answer = (request: Request): boolean => {
    if (request.method !== 'Scan') return false;
    const scan = readScanRequest(request);
    if (
      !scriptsMeta &&
      Buffer.from(scan.region?.value ?? [])
        .toString()
        .startsWith('hbase:meta')
    )
      return false;
    asked.push(scan);
    if (scan.closeScanner === true || scan.renew === true) {
      request.connection.reply(request.id, ScanResponse, {
        ttl: 100,
        scannerId: SCANNER,
        moreResults: true,
        moreResultsInRegion: true,
      });
      return true;
    }
    const next = script.shift() ?? { more: false };
    next.before?.();
    if (next.drop === true) request.connection.socket.destroy();
    else if (next.fail !== undefined) request.connection.fail(request.id, next.fail, 'told to', true);
    else send(request, next);
    return true;
  };

  const send = (request: Request, next: Answer): void => {
    const pieces = next.pieces ?? [];
    const cells = pieces.flat().map((text): WireCell => {
      const [row = '', qualifier = ''] = text.split(':');
      return [row, 'f', qualifier, 1, 4, 'v'];
    });
    const value = {
      cellsPerResult: next.counts ?? pieces.map((piece) => piece.length),
      partial: next.partial,
      scannerId: SCANNER,
      ttl: next.ttl ?? 60_000,
      moreResults: next.more ?? true,
      moreResultsInRegion: next.moreInRegion ?? true,
      heartbeat: next.heartbeat,
      stale: next.stale,
      readPoint: next.readPoint,
    };
    request.connection.reply(request.id, ScanResponse, value, cellBlock(cells));
  };

  const text = (result: Result): string =>
    `${Buffer.from(result.row).toString()}[${result.cells.map((cell) => Buffer.from(cell.qualifier).toString()).join('')}]${result.partial ? '+' : ''}`;

  const readAll = async (scan = new Scan()): Promise<string[]> => {
    const rows: string[] = [];
    for await (const result of engine.table('t').scan(scan)) rows.push(text(result));
    return rows;
  };

  const starts = (): string[] =>
    asked
      .filter(({ scan }) => scan !== undefined)
      .map(
        ({ scan }) => `${scan!.includeStartRow ? '[' : '('}${Buffer.from(scan!.startRow ?? []).toString()}`,
      );

  it('of hbase:meta takes rows in the order of their tables, start keys and ids, also when it goes on after a loss', async () => {
    scriptsMeta = true;
    // By their bytes alone, the first two would be the other way round.
    const rows = ['t,,1.a.', 't,\x0c,1.b.', 't,\x0c\x01,1.c.', 't,\x0c\x01,2.d.'] as const;
    const [first, second, third, fourth] = rows.map((row) => ({ pieces: [[`${row}:a`]] }));
    const unlike = (name: string): Answer => ({ fail: `org.apache.hadoop.hbase.${name}` });
    const read = async (scan: Scan): Promise<string[]> => {
      const found: string[] = [];
      for await (const { row } of engine.table('hbase:meta').scan(scan))
        found.push(Buffer.from(row).toString());
      return found;
    };
    script = [first!, second!, unlike('UnknownScannerException'), third!, { ...fourth!, more: false }];
    expect(await read(new Scan().withStartRow(Buffer.from('t,,')))).toEqual(rows);
    expect(starts()).toEqual(['[t,,', `(${rows[1]}`]);
    script = [fourth!, third!, second!, { ...first!, more: false }];
    expect(await read(new Scan().setReversed(true))).toEqual(rows.toReversed());
    // What comes out of this order is asked for again.
    script = [second!, { ...first!, more: false }, { ...third!, more: false }];
    expect(await read(new Scan())).toEqual([rows[1], rows[2]]);
  });

  it('that is aborted while a region answers its last ends with that, and asks nothing again', async () => {
    const retries: string[] = [];
    const watched = await connectHBase({
      masters: [peer.address],
      pause: 1,
      onEvent: (event) => {
        if (event.kind === 'retry') retries.push(event.error.message);
      },
    });
    for (const rest of [
      { moreInRegion: false },
      { more: false },
      { pieces: [['b:1']], moreInRegion: false },
    ]) {
      const abort = new AbortController();
      const { signal } = abort;
      script = [{ pieces: [['a:1']] }, { ...rest, before: () => abort.abort() }];
      const scanner = watched.table('t').scan(new Scan().setCaching(1), { signal });
      await scanner.next();
      await expect(scanner.nextBatch(9)).rejects.toMatchObject({ code: 'ERR_ABORTED' });
      await scanner.close();
      // What is behind a call of the same connection has been done.
      script = [];
      await watched.table('t').scan(new Scan()).next();
    }
    await watched.close();
    expect(retries).toEqual([]);
  });

  it('takes no answer that announces fewer cells than it has', async () => {
    const pieces = [['a:1', 'a:2'], ['b:1'], ['c:1']];
    for (const counts of [[2, 1], [2], [1, 1, 1], []]) {
      script = [
        { pieces, counts, moreInRegion: false },
        { pieces, moreInRegion: false },
      ];
      expect(await readAll(), JSON.stringify(counts)).toEqual(['a[12]', 'b[1]', 'c[1]']);
    }
  });

  it('gives results as any other, whenever and in whatever order their cells are made', async () => {
    for (const stale of [false, true]) {
      script = [{ pieces: [['a:1', 'a:2'], ['b:1'], ['c:1', 'c:3']], stale, moreInRegion: false }];
      const results: Result[] = [];
      for await (const result of engine.table('t').scan(new Scan())) results.push(result);
      expect(results.map(({ isEmpty, partial, isStale }) => [isEmpty, partial, isStale])).toEqual(
        results.map(() => [false, false, stale]),
      );
      expect(results.toReversed().map(text)).toEqual(['c[13]', 'b[1]', 'a[12]']);
      for (const result of results) {
        const made = new Result(result.row, result.cells);
        expect(result).toBeInstanceOf(Result);
        expect(result.cells).toBe(result.cells);
        expect(result.row).toBe(result.cells[0]!.row);
        expect(JSON.stringify(result)).toBe(JSON.stringify(made));
        expect(inspect(result).replace('StaleResult', 'Result')).toBe(inspect(made));
      }
      expect(Buffer.from(results[2]!.getValue('f', '3')!).toString()).toBe('v');
      expect(results[2]!.getColumnCells('f', '3')).toEqual([results[2]!.cells[1]]);
      expect(results[1]!.getLatest('f', '3')).toBeUndefined();
    }
  });

  it('puts the pieces of rows together, whichever way the server cuts them', async () => {
    script = [
      { pieces: [['a:1', 'a:2'], ['b:1']], partial: [false, true] },
      { pieces: [['b:2']], partial: [true] },
      { heartbeat: true },
      { pieces: [['b:3'], ['c:1']], partial: [] }, // flags may be missing
      { pieces: [['d:1']], partial: [true] },
      {}, // an empty answer that is no heartbeat ends the row
      { pieces: [['e:1']], partial: [true] },
      { pieces: [['f:1']], moreInRegion: false }, // so does another row
    ];
    expect(await readAll()).toEqual(['a[12]', 'b[123]', 'c[1]', 'd[1]', 'e[1]', 'f[1]']);
    expect(asked.map(({ nextCallSeq }) => nextCallSeq)).toEqual([undefined, 0, 1, 2, 3, 4, 5, 6]);
    expect(asked.some(({ closeScanner }) => closeScanner)).toBe(false);
    expect(new Set(asked.slice(1).map(({ scannerId }) => scannerId))).toEqual(new Set([SCANNER]));
  });

  it('gives batches of exactly the size asked for', async () => {
    script = [
      { pieces: [['a:1', 'a:2'], ['a:3'], ['b:1', 'b:2']], partial: [true, false, true] },
      { pieces: [['b:3', 'b:4'], ['b:5']], partial: [true, false], moreInRegion: false },
    ];
    expect(await readAll(new Scan().setBatch(2))).toEqual(['a[12]+', 'a[3]', 'b[12]+', 'b[34]+', 'b[5]']);
  });

  it('ends a batch where the rows that have come are as large as asked for, whole or in pieces', async () => {
    script = [
      { pieces: [['a:1'], ['b:1']] },
      { pieces: [['c:1', 'c:2']], partial: [true] },
      { pieces: [['c:3']], partial: [false] },
      { pieces: [['d:1']], more: false },
    ];
    const scanner = engine.table('t').scan(new Scan());
    const batches: string[][] = [];
    do batches.push((await scanner.nextBatch(9, 1)).map(text));
    while (batches.at(-1)!.length > 0);
    expect(batches).toEqual([['a[1]', 'b[1]'], ['c[123]'], ['d[1]'], []]);
    script = [{ pieces: [['a:1']] }, { pieces: [['b:1']] }, { pieces: [['c:1']], more: false }];
    const other = engine.table('t').scan(new Scan());
    expect((await other.nextBatch(2, 1000)).map(text)).toEqual(['a[1]', 'b[1]']);
    expect((await other.nextBatch(2, 1000)).map(text)).toEqual(['c[1]']);
  });

  it('opens again behind the last whole row when the scanner is lost', async () => {
    const lost = ['UnknownScannerException', 'exceptions.ScannerResetException', 'NotServingRegionException'];
    for (const name of lost) {
      asked = [];
      script = [
        { pieces: [['a:1'], ['b:1']], partial: [false, true] },
        { fail: `org.apache.hadoop.hbase.${name}` },
        { pieces: [['b:1', 'b:2']], moreInRegion: false },
      ];
      expect(await readAll()).toEqual(['a[1]', 'b[12]']);
      expect(starts()).toEqual(['[', '(a']);
    }
  });

  it('closes a scanner that is out of step before it opens another', async () => {
    script = [
      { pieces: [['a:1']] },
      { fail: 'org.apache.hadoop.hbase.exceptions.OutOfOrderScannerNextException' },
      { pieces: [['b:1']], moreInRegion: false },
    ];
    expect(await readAll()).toEqual(['a[1]', 'b[1]']);
    expect(asked.map(({ closeScanner }) => closeScanner ?? false)).toEqual([false, false, true, false]);
  });

  it('goes on inside a row whose first batches were handed out', async () => {
    script = [
      { pieces: [['a:1', 'a:2'], ['a:3']], partial: [true, true] },
      { drop: true },
      {
        pieces: [
          ['a:1', 'a:2'],
          ['a:3', 'a:4'],
        ],
        partial: [true, false],
        moreInRegion: false,
      },
    ];
    expect(await readAll(new Scan().setBatch(2))).toEqual(['a[12]+', 'a[34]']);
    expect(starts()).toEqual(['[', '[a']);
  });

  it('reads the rest of a row that was begun as of the moment of its beginning, other rows as they are', async () => {
    script = [
      { pieces: [['a:1', 'a:2'], ['a:3']], partial: [true, true], readPoint: 77n },
      { drop: true },
      {
        pieces: [
          ['a:1', 'a:2'],
          ['a:3', 'a:4'],
        ],
        partial: [true, false],
        readPoint: 77n,
      },
      { drop: true },
      { pieces: [['b:1']], moreInRegion: false, readPoint: 90n },
    ];
    expect(await readAll(new Scan().setBatch(2))).toEqual(['a[12]+', 'a[34]', 'b[1]']);
    const points = asked.filter(({ scan }) => scan !== undefined).map(({ scan }) => scan?.readPoint);
    expect(points).toEqual([undefined, 77n, undefined]);
  });

  it('says of each row whether a replica gave it, whole or in pieces', async () => {
    script = [
      { pieces: [['a:1'], ['b:1']], stale: true },
      { pieces: [['c:1']], partial: [true], stale: true },
      { pieces: [['c:2']], partial: [false], stale: true },
      { pieces: [['d:1']] },
      { pieces: [['e:1']], partial: [true] },
      { pieces: [['e:2']], moreInRegion: false },
    ];
    const stale: string[] = [];
    for await (const result of engine.table('t').scan(new Scan()))
      stale.push(`${text(result)} ${result.isStale}`);
    expect(stale).toEqual(['a[1] true', 'b[1] true', 'c[12] true', 'd[1] false', 'e[12] false']);
  });

  it('asks for no more rows than its limit, and stops there whatever comes', async () => {
    script = [{ pieces: [['a:1'], ['b:1']] }, { pieces: [['c:1'], ['d:1'], ['e:1']] }];
    expect(await readAll(new Scan().setLimit(3))).toEqual(['a[1]', 'b[1]', 'c[1]']);
    expect(asked.slice(0, 2).map(({ limitOfRows }) => limitOfRows)).toEqual([3, 1]);
    await expect.poll(() => asked.at(-1)!.closeScanner).toBe(true);
  });

  it('closes its scanner when it is left early', async () => {
    script = [{ pieces: [['a:1'], ['b:1'], ['c:1'], ['d:1'], ['e:1']] }];
    for await (const result of engine.table('t').scan(new Scan())) {
      expect(text(result)).toBe('a[1]');
      break;
    }
    expect(asked.map(({ closeScanner }) => closeScanner ?? false)).toEqual([false, true]);
  });

  it('renews its lease while nobody reads, and counts the renewals', async () => {
    script = [
      { pieces: [['a:1'], ['b:1'], ['c:1']], ttl: 200 },
      { pieces: [['d:1']], more: false },
    ];
    const scanner = engine.table('t').scan(new Scan());
    expect(text((await scanner.next())!)).toBe('a[1]');
    await expect.poll(() => asked.filter(({ renew }) => renew).length).toBeGreaterThanOrEqual(2);
    const renewals = asked.filter(({ renew }) => renew).length;
    expect((await scanner.nextBatch(9)).map(text)).toEqual(['b[1]', 'c[1]', 'd[1]']);
    const seqs = asked.slice(1).map(({ nextCallSeq }) => nextCallSeq);
    expect(seqs).toEqual(seqs.map((_, i) => i));
    expect(seqs.length).toBeGreaterThan(renewals);
  });

  it('fetches at most one answer ahead', async () => {
    script = [
      { pieces: [['a:1'], ['b:1']] },
      { pieces: [['c:1'], ['d:1']] },
      { pieces: [['e:1'], ['f:1']] },
      { pieces: [['g:1']], more: false },
    ];
    const scanner = engine.table('t').scan(new Scan());
    expect(text((await scanner.next())!)).toBe('a[1]');
    await expect.poll(() => asked.length).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(asked).toHaveLength(2);
    expect((await scanner.nextBatch(10)).map(text)).toEqual(['b[1]', 'c[1]', 'd[1]', 'e[1]', 'f[1]', 'g[1]']);
  });

  it('passes on an error that no repetition mends, and stays failed', async () => {
    script = [{ fail: 'org.apache.hadoop.hbase.DoNotRetryIOException' }];
    const scanner = engine.table('t').scan(new Scan());
    await expect(scanner.next()).rejects.toMatchObject({ code: 'ERR_REMOTE', retryable: false });
    await expect(scanner.next()).rejects.toMatchObject({ code: 'ERR_REMOTE' });
    await scanner.close();
    await expect(scanner.next()).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  });

  it('does not ask for ever where answers lead nowhere', async () => {
    peer.handler = (request) => {
      if (request.method === 'Scan') script = [{}];
      return answer(request);
    };
    const scanner = engine.table('t').scan(new Scan(), { timeout: 100 });
    await expect(scanner.next()).rejects.toMatchObject({ code: 'ERR_TIMEOUT', retryable: true });
    await scanner.close();
  });

  it('is refused by a server that opens it and gives it no number', async () => {
    peer.handler = (request) => {
      if (request.method !== 'Scan') return false;
      if (Buffer.from(readScanRequest(request).region?.value ?? []).includes('hbase:meta')) return false;
      request.connection.reply(request.id, ScanResponse, { moreResults: true, moreResultsInRegion: true });
      return true;
    };
    await engine.close();
    engine = await connectHBase({ masters: [peer.address], pause: 1, quarantine: 0, retries: 2 });
    const scanner = engine.table('t').scan(new Scan());
    await expect(scanner.next()).rejects.toThrow(/no number/);
    await scanner.close();
  });

  it.each([
    ['rows', { pieces: [['a:1'], ['b:1']] }],
    ['pieces of a row', { pieces: [['a:1', 'a:2']], partial: [true] }],
  ] as const)('does not read on where a server repeats its %s', async (_what, repeated) => {
    peer.handler = (request) => {
      if (request.method === 'Scan') script = [repeated];
      return answer(request);
    };
    await engine.close();
    engine = await connectHBase({ masters: [peer.address], pause: 1, quarantine: 0, retries: 2 });
    const scanner = engine.table('t').scan(new Scan());
    await expect(scanner.nextBatch(1000)).rejects.toMatchObject({ code: 'ERR_CORRUPTION' });
    await scanner.close();
  });

  it('ends with its signal', async () => {
    const controller = new AbortController();
    peer.handler = (request) => request.method === 'Scan' && answer(request) && false;
    script = [{ pieces: [['a:1']] }];
    const scanner = engine.table('t').scan(new Scan(), { signal: controller.signal });
    await scanner.next();
    controller.abort();
    await expect(scanner.next()).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    await scanner.close();
  });
});
