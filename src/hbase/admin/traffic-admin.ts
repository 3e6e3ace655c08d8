import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { configurationOf, pairsOf } from './attributes.js';
import type { MasterClient } from './master-client.js';
import { master } from './rpcs.js';
import { tableNameMessage } from './table-codec.js';

/** What is counted by a throttle, in the order of HBase's numbers, which begin with 1. */
export const COUNTED = [
  'REQUEST_NUMBER',
  'REQUEST_SIZE',
  'WRITE_NUMBER',
  'WRITE_SIZE',
  'READ_NUMBER',
  'READ_SIZE',
] as const;
/** Java's units of time, as HBase numbers those that it takes. */
export const UNITS = { SECONDS: 4, MINUTES: 5, HOURS: 6, DAYS: 7 } as const;

/** Whose requests are held back: a user's, a table's, a namespace's, or a user's in one of these. */
export interface ThrottleSubject {
  readonly user?: string;
  readonly table?: string;
  readonly namespace?: string;
}

export interface Throttle {
  readonly counts: (typeof COUNTED)[number];
  /** Requests, or bytes; undefined: no longer held back. */
  readonly limit: number | undefined;
  /** Default: a second. */
  readonly per?: keyof typeof UNITS;
}

/** Another cluster that is sent what is written to this one. */
export interface ReplicationPeer {
  readonly id: string;
  /** `quorum:port:parent` of the other cluster's ZooKeeper. */
  readonly clusterKey: string;
  readonly enabled: boolean;
  /** A class that takes the place of HBase's own. */
  readonly endpoint?: string;
  readonly configuration: Readonly<Record<string, string>>;
}

const MACHINE = 2;
const ENABLED = 0;
const DISABLED = 1;

/** How much may be asked, and where what is written goes too. */
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
