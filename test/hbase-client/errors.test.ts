import { userInfo } from 'node:os';
import { describe, expect, it, vi } from 'vitest';
import { pauseBefore, suggestsStaleLocation } from '../../src/hbase/client/retry.js';
import { resolveSettings } from '../../src/hbase/options.js';
import { ConnectionError, remoteError } from '../../src/hbase/rpc/errors.js';

const HBASE = 'org.apache.hadoop.hbase.';

function remote(simple: string, message = 'm', extra: { doNotRetry?: boolean; trace?: string } = {}) {
  const className = simple.includes('.java') || simple.startsWith('java.') ? simple : `${HBASE}${simple}`;
  const stackTrace = `${className}: ${message}\n\tat a.B.c(D.java:1)\n${extra.trace ?? ''}`;
  return remoteError({ className, stackTrace, doNotRetry: extra.doNotRetry }, 'h:1', 'The get');
}

describe('exceptions of a server', () => {
  it.each([
    ['TableNotFoundException', 'ERR_TABLE_NOT_FOUND', false, false],
    ['TableExistsException', 'ERR_TABLE_EXISTS', false, false],
    ['TableNotEnabledException', 'ERR_TABLE_DISABLED', false, false],
    ['TableNotDisabledException', 'ERR_TABLE_ENABLED', false, false],
    ['NamespaceNotFoundException', 'ERR_NAMESPACE_NOT_FOUND', false, false],
    ['regionserver.NoSuchColumnFamilyException', 'ERR_NO_SUCH_FAMILY', false, false],
    ['security.AccessDeniedException', 'ERR_SECURITY', false, false],
    ['exceptions.FailedSanityCheckException', 'ERR_INVALID_ARGUMENT', false, false],
    ['snapshot.SnapshotDoesNotExistException', 'ERR_REMOTE', false, false],
    ['snapshot.SomeNewException', 'ERR_REMOTE', false, false],
    ['RegionTooBusyException', 'ERR_BUSY', true, false],
    ['CallQueueTooBigException', 'ERR_BUSY', true, false],
    ['MultiActionResultTooLarge', 'ERR_BUSY', true, false],
    ['exceptions.RegionOpeningException', 'ERR_BUSY', true, false],
    ['NotServingRegionException', 'ERR_WRONG_REGION', true, true],
    ['regionserver.WrongRegionException', 'ERR_WRONG_REGION', true, true],
    ['regionserver.RegionServerStoppedException', 'ERR_CONNECTION', true, true],
    ['ipc.ServerNotRunningYetException', 'ERR_CONNECTION', true, true],
    ['SomethingNobodyKnows', 'ERR_REMOTE', true, true],
    ['java.io.IOException', 'ERR_REMOTE', true, true],
  ])('%s is %s, retryable %s, location in doubt %s', (name, code, retryable, doubtful) => {
    const error = remote(name);
    expect(error).toMatchObject({ code, retryable });
    expect(suggestsStaleLocation(error)).toBe(doubtful);
    expect(error.message).toContain('m');
    expect(error.message).not.toContain('D.java');
  });

  it('name a missing family without the descriptor of the table', () => {
    const said =
      "Column family b does not exist in region t,,1.0a. in table 't', {NAME => 'a', VERSIONS => '1'}";
    const { message } = remote('regionserver.NoSuchColumnFamilyException', said);
    expect(message).toContain('Column family b does not exist in region t,,1.0a. Add it');
  });

  it.each([
    [
      "Insufficient permissions for user 'carl' (table=p4, action=READ)",
      'The user carl lacks the right READ on table p4.',
      "admin.grant({ user: 'carl', table: 'p4', actions: ['READ'] }, true)",
      { user: 'carl', action: 'READ', table: 'p4' },
    ],
    [
      'Insufficient permissions (user=carl@ROWAN.TEST, scope=default:p4, family=f:q, params=[table=default:p4,family=f:q],action=WRITE)',
      'The user carl@ROWAN.TEST lacks the right WRITE on table p4, family f.',
      "admin.grant({ user: 'carl', table: 'p4', family: 'f', actions: ['WRITE'] }, true)",
      { user: 'carl@ROWAN.TEST', action: 'WRITE', table: 'p4', family: 'f', qualifier: 'q' },
    ],
    [
      'Insufficient permissions (user=carl/h@R, scope=shop:p4, family=f:\ufffd\n, params=[table=shop:p4,family=f:\ufffd\n],action=WRITE)',
      'The user carl/h@R lacks the right WRITE on table shop:p4, family f.',
      "admin.grant({ user: 'carl', table: 'shop:p4', family: 'f', actions: ['WRITE'] }, true)",
      { user: 'carl/h@R', action: 'WRITE', table: 'shop:p4', family: 'f' },
    ],
    [
      'Insufficient permissions (user=carl@R, scope=default, params=[namespace=default,table=default:t,family=f],action=CREATE)',
      'The user carl@R lacks the right CREATE on namespace default.',
      "admin.grant({ user: 'carl', namespace: 'default', actions: ['CREATE'] }, true)",
      { user: 'carl@R', action: 'CREATE', namespace: 'default' },
    ],
    [
      "Insufficient permissions for user 'carl' (global, action=ADMIN)",
      'The user carl lacks the right ADMIN on the cluster.',
      "admin.grant({ user: 'carl', actions: ['ADMIN'] }, true)",
      { user: 'carl', action: 'ADMIN' },
    ],
  ])('say who lacks which right, and how it is granted: %s', (said, who, grant, details) => {
    const error = remote('security.AccessDeniedException', said);
    expect(error.message).toBe(
      `The get failed on h:1: AccessDeniedException: ${who} An administrator grants it: ${grant}.`,
    );
    const { exceptionClass: _, server: __, ...rest } = error.details;
    expect(rest).toEqual(details);
  });

  it('of denied rights that are not read are shown as they are', () => {
    const { message, denial } = remote('security.AccessDeniedException', 'Denied');
    expect(message).toContain('AccessDeniedException: Denied. Check the user');
    expect(denial).toBeUndefined();
  });

  it('that say not to retry are believed when they are not known', () => {
    expect(remote('SomethingNobodyKnows', 'm', { doNotRetry: true }).retryable).toBe(false);
  });

  it('that are faults of the server in the request itself are not repeated, and name their cause', () => {
    const trace = 'Caused by: java.lang.ArrayIndexOutOfBoundsException: 3\n\tat x';
    const error = remoteError(
      { className: 'java.io.IOException', stackTrace: `java.io.IOException\n\tat y\n${trace}` },
      'h:1',
      'It',
    );
    expect(error.retryable).toBe(false);
    expect(error.message).toContain('ArrayIndexOutOfBoundsException: 3');
  });

  it.each([
    ["Field is not a long, it's 2 bytes wide", 'ERR_INVALID_ARGUMENT'],
    ['Cell[a/f:q/1/Put/vlen=9/seqid=0] with size 9 exceeds limit of 8 bytes', 'ERR_INVALID_ARGUMENT'],
    ['Cell with size 9 exceeds limit of 8 bytes in region x', 'ERR_INVALID_ARGUMENT'],
    [
      `Cell[${'k'.repeat(5000)}/f:q/1/Put/vlen=9/seqid=0] with size 9 exceeds limit of 8 bytes`,
      'ERR_INVALID_ARGUMENT',
    ],
    ['region is read only', 'ERR_READONLY'],
    ['anything else', 'ERR_REMOTE'],
  ])('DoNotRetryIOException "%s" is %s', (message, code) => {
    expect(remote('DoNotRetryIOException', message)).toMatchObject({ code, retryable: false });
  });

  it('of a cell above the limit tell how to store it', () => {
    const error = remote('DoNotRetryIOException', 'Cell[a/f:q/1/Put] with size 9 exceeds limit of 8 bytes.');
    expect(error.message).toContain(
      'exceeds limit of 8 bytes. Divide the value over several columns or rows, or raise hbase.server.keyvalue',
    );
  });

  it('tell where a region went, or that it has to be looked for', () => {
    const text = 'Region moved to: hostname=h2 port=16020 startCode=77. As of locationSeqNum=9.';
    const moved = remote('exceptions.RegionMovedException', text);
    expect(moved).toMatchObject({
      retryClass: 'moved',
      movedTo: { host: 'h2', port: 16020, startCode: 77, seqNum: 9 },
    });
    expect(remote('exceptions.RegionMovedException', 'away')).toMatchObject({
      retryClass: 'relocate',
      movedTo: undefined,
    });
  });

  it('keep their messages short', () => {
    expect(remote('TableNotFoundException', 'x'.repeat(5000)).message.length).toBeLessThan(500);
  });
});

describe('the pause before a repetition', () => {
  const connection = new ConnectionError('lost');

  it('grows as in HBase, within a fifth, and no further than five seconds', () => {
    const factors = [1, 2, 3, 5, 10, 20, 40, 50, 50];
    for (const [i, factor] of factors.entries()) {
      const pause = pauseBefore(i + 1, 100, connection);
      expect(pause).toBeGreaterThanOrEqual(factor * 90);
      expect(pause).toBeLessThanOrEqual(factor * 110);
    }
    expect(pauseBefore(50, 10_000, connection)).toBeLessThanOrEqual(11_000);
  });

  it('is longer for a full server, none after a move or a full answer, and what throttling asks for', () => {
    expect(pauseBefore(1, 100, remote('CallQueueTooBigException'))).toBeGreaterThanOrEqual(450);
    const text = 'Region moved to: hostname=h2 port=16020 startCode=77. As of locationSeqNum=9.';
    expect(pauseBefore(1, 100, remote('exceptions.RegionMovedException', text))).toBe(0);
    expect(pauseBefore(9, 100, remote('MultiActionResultTooLarge'))).toBe(0);
    const throttled = 'number of requests exceeded - wait 1mins, 2sec, 300ms';
    expect(pauseBefore(1, 100, remote('quotas.RpcThrottlingException', throttled))).toBe(62_300);
    const briefly = remote('quotas.RpcThrottlingException', 'size exceeded - wait 40ms');
    expect(pauseBefore(1, 100, briefly)).toBe(40);
    // Refused again and again, as many wait for the same quota: as after other errors, but not before the time that was named.
    expect(pauseBefore(6, 100, briefly)).toBeGreaterThanOrEqual(1_800);
    expect(pauseBefore(6, 100, remote('quotas.RpcThrottlingException', throttled))).toBe(62_300);
  });
});

describe('options', () => {
  it('say who runs the process, also where the environment does not, as in containers', () => {
    vi.stubEnv('USERNAME', undefined);
    vi.stubEnv('USER', 'ann');
    expect(resolveSettings({ masters: ['a'] }).systemUser).toBe('ann');
    vi.stubEnv('USER', undefined);
    expect(resolveSettings({ masters: ['a'] }).systemUser).toBe(userInfo().username);
    vi.unstubAllEnvs();
  });

  it('have defaults', () => {
    const settings = resolveSettings({ masters: ['a', 'b:1', '[::1]:2'] });
    expect(settings.masters).toEqual([
      { host: 'a', port: 16000 },
      { host: 'b', port: 1 },
      { host: '::1', port: 2 },
    ]);
    expect(settings).toMatchObject({ operationTimeout: 60_000, rpcTimeout: 20_000, retries: 20, pause: 100 });
  });

  it.each([
    [{}, /masters/],
    [{ masters: ['a:b'] }, /host:port/],
    [{ masters: ['a:99999'] }, /host:port/],
    [{ masters: ['a'], retries: -1 }, /retries/],
    [{ masters: ['a'], rpcTimeout: Number.NaN }, /rpcTimeout/],
    [{ masters: ['a'], pause: 0.5 }, /pause/],
    [{ zookeeper: { quorum: [] } }, /quorum/],
    [{ zookeeper: { quorum: ['a'], parent: 'hbase' } }, /parent/],
  ])('that cannot be are named: %o', (options, message) => {
    expect(() => resolveSettings(options)).toThrow(message);
  });
});
