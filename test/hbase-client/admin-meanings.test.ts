/** Calls of the admin that a server would take for something else than they say. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Revocation } from '../../src/hbase/admin/access-admin.js';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import {
  GetCompletedSnapshotsResponse,
  GetProcedureResultResponse,
  GetTableDescriptorsRequest,
  GetTableDescriptorsResponse,
  RestoreSnapshotRequest,
  RestoreSnapshotResponse,
} from '../../src/hbase/wire/messages-admin.js';
import { GetActiveMasterResponse } from '../../src/hbase/wire/messages-rpc.js';
import { GrantRequest, RevokeRequest } from '../../src/hbase/wire/messages-security.js';
import { decodeMessage, Empty } from '../../src/hbase/wire/schema.js';
import { FakePeer, type Request } from './fake-peer.js';

const FINISHED = 2;

describe('the admin', () => {
  let peer: FakePeer;
  let engine: HBaseEngine;
  let tables: string[];

  const master = ({ id, method, param, connection }: Request): boolean => {
    if (method === 'GetActiveMaster') {
      const serverName = { hostName: '127.0.0.1', port: peer.port, startCode: 1 };
      connection.reply(id, GetActiveMasterResponse, { serverName });
    } else if (method === 'GetCompletedSnapshots') {
      connection.reply(id, GetCompletedSnapshotsResponse, { snapshots: [{ name: 'snap', table: 'source' }] });
    } else if (method === 'GetTableDescriptors') {
      const { tableNames = [] } = decodeMessage(GetTableDescriptorsRequest, param);
      const tableSchema = tableNames
        .filter(({ qualifier }) => tables.includes(Buffer.from(qualifier).toString()))
        .map((tableName) => ({ tableName }));
      connection.reply(id, GetTableDescriptorsResponse, { tableSchema });
    } else if (method === 'Grant' || method === 'Revoke') connection.reply(id, Empty, {});
    else if (method === 'RestoreSnapshot') connection.reply(id, RestoreSnapshotResponse, { procId: 7 });
    else if (method === 'getProcedureResult') {
      connection.reply(id, GetProcedureResultResponse, { state: FINISHED });
    } else return false;
    return true;
  };

  beforeEach(async () => {
    tables = ['source', 'present'];
    peer = await FakePeer.start(master);
    engine = await connectHBase({ masters: [peer.address], pause: 1, retries: 1 });
  });
  afterEach(async () => {
    await engine.close();
    await peer.stop();
  });

  it('asks as a client, not with the handlers by which a cluster recovers, and HBase alone for its own tables', async () => {
    await engine.admin.getDescriptor('present');
    await engine.admin.listSnapshots();
    await engine.admin.getDescriptors(['present']);
    await engine.admin.isTableEnabled('present').catch(() => undefined);
    await engine.admin.isTableEnabled('hbase:acl').catch(() => undefined);
    await engine.admin.flush('present').catch(() => undefined);
    const raised = peer.requests.filter(({ priority = 0 }) => priority !== 0);
    expect(raised.map(({ method, priority }) => [method, priority])).toEqual([['GetTableState', 200]]);
    expect(peer.requests.length).toBeGreaterThan(8);
  });

  it('reads of meta which tables there are, in one request, and asks the master once for those', async () => {
    expect(await engine.admin.tableExists('absent')).toBe(false);
    expect(await engine.admin.tableExists('present')).toBe(true);
    expect(await engine.admin.getDescriptors(['absent', 'absent_idx'])).toEqual([]);
    expect(peer.of('GetTableDescriptors')).toEqual([]);
    const scans = peer.of('Scan').length;
    const found = await engine.admin.getDescriptors(['source', 'absent_idx', 'present', 'source_idx']);
    expect(found.map(({ name }) => name)).toEqual(['source', 'present']);
    expect(peer.of('Scan').length).toBe(scans + 1);
    expect(peer.of('GetTableDescriptors').length).toBe(1);
  });

  it('grants and revokes by objects of one form, and refuses those that might mean the whole cluster', async () => {
    const { admin } = engine;
    await admin.grant({ user: 'ann', table: 'present', family: 'f', actions: ['READ'] });
    await admin.revoke({ user: 'ann', table: 'present', family: 'f' });
    await admin.revoke({ user: 'ann', namespace: 'default', actions: ['READ', 'WRITE'] });
    const [given] = peer.of('Grant').map(({ param }) => decodeMessage(GrantRequest, param).userPermission);
    const taken = peer.of('Revoke').map(({ param }) => decodeMessage(RevokeRequest, param).userPermission);
    expect(taken[0]?.user).toEqual(given?.user);
    expect(taken[0]?.permission.tablePermission).toEqual({
      ...given?.permission.tablePermission,
      action: undefined,
    });
    expect(taken[1]?.permission.namespacePermission?.action).toEqual([0, 1]);
    const wrong: [unknown, RegExp][] = [
      ['ann', /^revoke takes one object, \{ user, table, actions \} or another scope, not "ann"\.$/],
      [{ user: 'ann', tabel: 'present' }, /^revoke has no option "tabel"\. Its options are user, namespace,/],
      [{ user: 'ann', table: 'present', actions: 'READ' }, /^revoke: the actions are "READ"\. Give a list/],
      [{ table: 'present' }, /^A user is a name/],
    ];
    for (const [permission, message] of wrong) {
      const refused = { code: 'ERR_INVALID_ARGUMENT', message: expect.stringMatching(message) as string };
      await expect(admin.revoke(permission as Revocation)).rejects.toMatchObject(refused);
    }
    const tabel = { user: 'ann', tabel: 'present', actions: ['READ'] } as const;
    await expect(admin.grant(tabel)).rejects.toThrow(/^grant has no option "tabel"/);
    expect([peer.of('Grant').length, peer.of('Revoke').length]).toEqual([1, 2]);
  });

  const restored = (): (string | undefined)[] =>
    peer
      .of('RestoreSnapshot')
      .map(({ param }) => decodeMessage(RestoreSnapshotRequest, param).snapshot.table);

  it('never clones a snapshot over a table that is there', async () => {
    await expect(engine.admin.cloneSnapshot('snap', 'present')).rejects.toMatchObject({
      code: 'ERR_TABLE_EXISTS',
      message: expect.stringContaining('restoreSnapshot'),
    });
    await expect(engine.admin.cloneSnapshot('snap', 'source')).rejects.toMatchObject({
      code: 'ERR_TABLE_EXISTS',
    });
    expect(restored()).toEqual([]);
    await engine.admin.cloneSnapshot('snap', 'absent');
    expect(restored()).toEqual(['absent']);
  });

  it('restores only a table that is there', async () => {
    await engine.admin.restoreSnapshot('snap');
    tables = [];
    peer.absent.add('source');
    await expect(engine.admin.restoreSnapshot('snap')).rejects.toMatchObject({
      code: 'ERR_TABLE_NOT_FOUND',
      message: expect.stringContaining('cloneSnapshot'),
    });
    expect(restored()).toEqual(['source']);
  });

  it('takes no name of a table, or of nothing, for the region of meta', async () => {
    for (const region of ['present', '', 't,,1', 'hbase:meta,,1 ', 't,,1.0123.']) {
      await expect(engine.admin.moveRegion(region)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
      await expect(engine.admin.mergeRegions([region, region])).rejects.toMatchObject({
        code: 'ERR_INVALID_ARGUMENT',
      });
    }
    expect(peer.of('MoveRegion')).toEqual([]);
    expect(peer.of('MergeTableRegions')).toEqual([]);
  });

  it('merges two regions at least, each once, of one table', async () => {
    const name = (table: string, digit: string): string => `${table},,1.${digit.repeat(32)}.`;
    const wrong = [[], [name('t', 'a')], [name('t', 'a'), name('t', 'a')], [name('t', 'a'), name('u', 'b')]];
    for (const regions of wrong) {
      await expect(engine.admin.mergeRegions(regions)).rejects.toMatchObject({
        code: 'ERR_INVALID_ARGUMENT',
      });
    }
    expect(peer.of('MergeTableRegions')).toEqual([]);
  });
});
