import { afterEach, beforeEach, expect, it } from 'vitest';
import { fromLatin1 } from '../../src/bytes/index.js';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import {
  BulkLoadHFileRequest,
  BulkLoadHFileResponse,
  CleanupBulkLoadRequest,
  PrepareBulkLoadResponse,
} from '../../src/hbase/wire/messages-operations.js';
import { decodeMessage } from '../../src/hbase/wire/schema.js';
import { answerFrame, FakePeer, type Request } from './fake-peer.js';

const FILE = { family: 'f', path: 'hdfs://nn/x', firstRow: fromLatin1('a'), lastRow: fromLatin1('b') };

let peer: FakePeer;
let engine: HBaseEngine;
/** What is done with the nth request for a load. */
let onLoad: (request: Request, nth: number) => void;

beforeEach(async () => {
  let loads = 0;
  peer = await FakePeer.start((request) => {
    const { id, method, connection } = request;
    if (method === 'PrepareBulkLoad') connection.reply(id, PrepareBulkLoadResponse, { bulkToken: 'stage' });
    else if (method === 'CleanupBulkLoad') connection.raw(answerFrame(id, new Uint8Array(0)));
    else if (method === 'BulkLoadHFile') onLoad(request, ++loads);
    else return false;
    return true;
  });
  engine = await connectHBase({ masters: [peer.address], pause: 1, retries: 3, quarantine: 0 });
});
afterEach(async () => {
  await engine.close();
  await peer.stop();
});

const loaded = ({ id, connection }: Request, value = true): void =>
  connection.reply(id, BulkLoadHFileResponse, { loaded: value });
const staged = (): string[] =>
  peer.of('CleanupBulkLoad').map(({ param }) => decodeMessage(CleanupBulkLoadRequest, param).bulkToken);

it('a lost answer is asked for again when files are copied, and is an unknown outcome when they are moved', async () => {
  onLoad = (request, nth) => (nth % 2 === 1 ? request.connection.socket.destroy() : loaded(request));
  expect(await engine.admin.bulkLoad({ table: 't', files: [FILE], copy: true })).toMatchObject({
    loaded: [FILE],
  });
  expect(peer.of('BulkLoadHFile')).toHaveLength(2);
  await expect(engine.admin.bulkLoad({ table: 't', files: [FILE] })).rejects.toMatchObject({
    code: 'ERR_CONNECTION',
    retryable: false,
    details: { outcome: 'unknown' },
    message: expect.not.stringMatching(/made again/),
  });
  expect(peer.of('BulkLoadHFile')).toHaveLength(3);
  await expect.poll(staged, { timeout: 60_000 }).toEqual(['stage', 'stage']);
});

it('a region that refuses is looked up again once; the message names what was loaded before', async () => {
  onLoad = (request, nth) => loaded(request, nth > 1);
  const token = {
    identifier: Buffer.of(1),
    password: Buffer.of(2),
    kind: 'HDFS_DELEGATION_TOKEN',
    service: 'nn',
  };
  await engine.admin.bulkLoad({ table: 'ns:t', files: [FILE], fileSystemToken: token, replicate: false });
  const requests = peer.of('BulkLoadHFile').map(({ param }) => decodeMessage(BulkLoadHFileRequest, param));
  expect(requests).toHaveLength(2);
  expect(requests[1]).toMatchObject({
    bulkToken: 'stage',
    assignSeqNum: true,
    fsToken: token,
    replicate: false,
  });
  onLoad = (request) => loaded(request, false);
  await expect(engine.admin.bulkLoad({ table: 't', files: [FILE] })).rejects.toMatchObject({
    code: 'ERR_REMOTE',
    retryable: false,
  });
  expect(peer.of('BulkLoadHFile')).toHaveLength(4);
});

it('what is no file to load is refused before anything is sent', async () => {
  const refused = (file: object): Promise<unknown> =>
    expect(engine.admin.bulkLoad({ table: 't', files: [{ ...FILE, ...file }] })).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
  await refused({ path: '/x' });
  await refused({ family: '' });
  await refused({ lastRow: fromLatin1('A') });
  expect(peer.of('PrepareBulkLoad')).toEqual([]);
  expect(await engine.admin.bulkLoad({ table: 't', files: [] })).toEqual({ loaded: [], straddling: [] });
});
