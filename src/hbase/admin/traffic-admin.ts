import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { Scan } from '../../table/get-and-scan.js';
import type { Cluster } from '../client/cluster.js';
import { HBaseScanner } from '../client/scanner.js';
import { ProtocolError } from '../rpc/errors.js';
import { QuotasMessage, type SpaceQuotaSnapshot } from '../wire/messages-operations.js';
import { decodeMessage, type TypeOf } from '../wire/schema.js';
import { type MasterClient, master } from './master-client.js';
import { configurationOf, pairsOf, tableNameMessage, tableNameText } from './table-codec.js';

/** The quantities that a throttle limits, in the order of HBase's numbers, from 1. */
const COUNTED = [
  'REQUEST_NUMBER',
  'REQUEST_SIZE',
  'WRITE_NUMBER',
  'WRITE_SIZE',
  'READ_NUMBER',
  'READ_SIZE',
] as const;
/** Java's time units, with HBase's numbers of those that it supports. */
const UNITS = { SECONDS: 4, MINUTES: 5, HOURS: 6, DAYS: 7 } as const;

/** The subject of a throttle: a user, a table, a namespace, or a user in one of these. */
export interface ThrottleSubject {
  readonly user?: string;
  readonly table?: string;
  readonly namespace?: string;
}

export interface Throttle {
  readonly counts: (typeof COUNTED)[number];
  /** Requests or bytes for each unit of time; undefined: no limit. */
  readonly limit: number | undefined;
  /** Default: a second. */
  readonly per?: keyof typeof UNITS;
}

/** A replication peer: a cluster that receives this one's writes. */
export interface ReplicationPeer {
  readonly id: string;
  /** `quorum:port:parent` of the other cluster's ZooKeeper. */
  readonly clusterKey: string;
  readonly enabled: boolean;
  /** A Java class that replaces HBase's own endpoint. */
  readonly endpoint?: string;
  readonly configuration: Readonly<Record<string, string>>;
}

const MACHINE = 2;
const ENABLED = 0;
const DISABLED = 1;

/** Throttles and replication peers. */
export class TrafficAdmin {
  constructor(private readonly masters: MasterClient) {}

  async setThrottle(subject: ThrottleSubject, throttle: Throttle): Promise<void> {
    const { user, table, namespace } = subject;
    const { counts, limit, per = 'SECONDS' } = throttle;
    const type = COUNTED.indexOf(counts) + 1;
    if (type === 0 || UNITS[per] === undefined) {
      throw new InvalidArgumentError(
        `A throttle counts one of ${COUNTED.join(', ')} per ${Object.keys(UNITS).join(', ')}, not ${describe(counts)} per ${describe(per)}.`,
      );
    }
    if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0)) {
      throw new InvalidArgumentError(
        `The limit of a throttle is a whole number above 0, not ${describe(limit)}.`,
      );
    }
    if ((user ?? table ?? namespace) === undefined || (table !== undefined && namespace !== undefined)) {
      throw new InvalidArgumentError(
        'A throttle is for a user, a table or a namespace, or for a user in one of these.',
      );
    }
    const timedQuota =
      limit === undefined ? undefined : { timeUnit: UNITS[per], softLimit: limit, scope: MACHINE };
    await this.masters.call(master.setQuota, {
      userName: user,
      namespace,
      tableName: table === undefined ? undefined : tableNameMessage(table),
      throttle: { type, timedQuota },
    });
  }

  async addPeer(peer: Omit<ReplicationPeer, 'configuration'> & Partial<ReplicationPeer>): Promise<void> {
    const { id, clusterKey, enabled, endpoint, configuration = {} } = peer;
    const deadline = this.masters.deadline();
    const { procId } = await this.masters.call(master.addReplicationPeer, {
      peerId: id,
      peerConfig: {
        clusterkey: clusterKey,
        replicationEndpointImpl: endpoint,
        configuration: pairsOf(configuration),
        replicateAll: true,
      },
      peerState: { state: enabled ? ENABLED : DISABLED },
    });
    await this.masters.awaitProcedure(procId, `addReplicationPeer ${id}`, deadline);
  }

  async change(what: 'remove' | 'enable' | 'disable', id: string): Promise<void> {
    const rpc = {
      remove: master.removeReplicationPeer,
      enable: master.enableReplicationPeer,
      disable: master.disableReplicationPeer,
    }[what];
    const deadline = this.masters.deadline();
    const { procId } = await this.masters.call(rpc, { peerId: id });
    await this.masters.awaitProcedure(procId, `${rpc.method} ${id}`, deadline);
  }

  async peers(): Promise<ReplicationPeer[]> {
    const { peerDesc = [] } = await this.masters.call(master.listReplicationPeers, {});
    return peerDesc
      .map(({ id, state, config }) => ({
        id,
        clusterKey: config.clusterkey ?? '',
        enabled: state.state === ENABLED,
        ...(config.replicationEndpointImpl ? { endpoint: config.replicationEndpointImpl } : {}),
        configuration: configurationOf(config.configuration ?? []),
      }))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async balance(force: boolean): Promise<boolean> {
    return (await this.masters.call(master.balance, { force })).balancerRan;
  }
}

/** The policies of an exceeded space quota, in the order of HBase's numbers, from 1. */
const POLICIES = ['DISABLE', 'NO_WRITES_COMPACTIONS', 'NO_WRITES', 'NO_INSERTS'] as const;

export type SpaceViolationPolicy = (typeof POLICIES)[number];

/** The subject of a space quota: a table, or all tables of a namespace. */
export type SpaceSubject =
  | { readonly table: string; readonly namespace?: undefined }
  | { readonly namespace: string; readonly table?: undefined };

export interface SpaceQuota {
  /** Bytes. */
  readonly limit: number;
  readonly policy: SpaceViolationPolicy;
}

/** The quotas of one subject. */
export interface Quota {
  readonly subject: ThrottleSubject;
  readonly throttles: readonly Throttle[];
  readonly space: SpaceQuota | undefined;
}

export interface SpaceQuotaState {
  readonly subject: SpaceSubject;
  /** Bytes at the master's last count. */
  readonly used: number;
  readonly limit: number;
  readonly violated: boolean;
}

const QUOTA_TABLE = 'hbase:quota';
const FAMILY = 'q';
const SETTINGS = 's';
const MAGIC = 'PBUF';

/** Quotas: rows of `hbase:quota`, which exists when `hbase.quota.enabled` is set. */
export class QuotaAdmin {
  constructor(
    private readonly masters: MasterClient,
    private readonly cluster: Cluster,
  ) {}

  async setSpace(subject: SpaceSubject, quota: SpaceQuota | undefined): Promise<void> {
    const { table, namespace } = subject;
    if ((table === undefined) === (namespace === undefined)) {
      throw new InvalidArgumentError('A quota of space is for a table or for a namespace.');
    }
    await this.masters.call(master.setQuota, {
      namespace,
      tableName: table === undefined ? undefined : tableNameMessage(table),
      spaceLimit: { quota: quota === undefined ? { remove: true } : messageOf(quota) },
    });
  }

  async list(): Promise<Quota[]> {
    const quotas: Quota[] = [];
    for await (const { row, cells } of new HBaseScanner(
      this.cluster,
      QUOTA_TABLE,
      new Scan().addFamily(FAMILY),
    )) {
      for (const { qualifier, value } of cells) {
        const subject = subjectOf(textOf(row), textOf(qualifier));
        if (subject !== undefined) quotas.push({ subject, ...settingsOf(value) });
      }
    }
    return quotas;
  }

  async spaceStates(): Promise<SpaceQuotaState[]> {
    const { tables = [], namespaces = [] } = await this.masters.call(master.getQuotaStates, {});
    const states: SpaceQuotaState[] = [];
    for (const { tableName, snapshot } of tables) {
      if (tableName !== undefined) states.push(stateOf({ table: tableNameText(tableName) }, snapshot));
    }
    for (const { namespace, snapshot } of namespaces) {
      if (namespace !== undefined) states.push(stateOf({ namespace }, snapshot));
    }
    return states;
  }
}

function messageOf(quota: SpaceQuota): { softLimit: number; violationPolicy: number } {
  const { limit, policy } = quota;
  const violationPolicy = POLICIES.indexOf(policy) + 1;
  if (violationPolicy === 0) {
    throw new InvalidArgumentError(
      `The policy of a quota is one of ${POLICIES.join(', ')}, not ${describe(policy)}.`,
    );
  }
  if (!Number.isSafeInteger(limit) || limit <= 0) {
    throw new InvalidArgumentError(
      `The limit of a quota is a whole number of bytes above 0, not ${describe(limit)}.`,
    );
  }
  return { softLimit: limit, violationPolicy };
}

/** `n.<namespace>`, `t.<table>`, `u.<user>`; a user's settings may be for one table or namespace (`s.<table>`, `s.<ns>:`). */
function subjectOf(row: string, qualifier: string): ThrottleSubject | undefined {
  if (qualifier !== SETTINGS && !qualifier.startsWith(`${SETTINGS}.`)) return undefined;
  const name = row.slice(2);
  if (row.startsWith('n.')) return { namespace: name };
  if (row.startsWith('t.')) return { table: name };
  if (!row.startsWith('u.')) return undefined;
  const within = qualifier.slice(2);
  if (within === '') return { user: name };
  return within.endsWith(':')
    ? { user: name, namespace: within.slice(0, -1) }
    : { user: name, table: within };
}

function settingsOf(value: Uint8Array): Pick<Quota, 'throttles' | 'space'> {
  if (textOf(value.subarray(0, MAGIC.length)) !== MAGIC) {
    throw new ProtocolError(`A row of ${QUOTA_TABLE} holds no protocol buffer.`);
  }
  const { throttle = {}, space } = decodeMessage(QuotasMessage, value, MAGIC.length);
  const throttles: Throttle[] = [];
  const timed = [
    throttle.reqNum,
    throttle.reqSize,
    throttle.writeNum,
    throttle.writeSize,
    throttle.readNum,
    throttle.readSize,
  ];
  for (const [i, quota] of timed.entries()) {
    if (quota === undefined) continue;
    const per = (Object.keys(UNITS) as (keyof typeof UNITS)[]).find((unit) => UNITS[unit] === quota.timeUnit);
    throttles.push({ counts: COUNTED[i]!, limit: quota.softLimit, ...(per === undefined ? {} : { per }) });
  }
  const policy = POLICIES[(space?.violationPolicy ?? 0) - 1];
  return {
    throttles,
    space: policy === undefined ? undefined : { limit: space?.softLimit ?? 0, policy },
  };
}

function stateOf(
  subject: SpaceSubject,
  snapshot: TypeOf<typeof SpaceQuotaSnapshot> | undefined,
): SpaceQuotaState {
  const { quotaUsage = 0, quotaLimit = 0, quotaStatus } = snapshot ?? {};
  return { subject, used: quotaUsage, limit: quotaLimit, violated: quotaStatus?.inViolation ?? false };
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
