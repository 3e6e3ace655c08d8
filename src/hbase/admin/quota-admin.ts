import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { Scan } from '../../table/scan.js';
import type { Cluster } from '../client/cluster.js';
import { HBaseScanner } from '../client/scanner.js';
import { ProtocolError } from '../rpc/errors.js';
import { QuotasMessage, type SpaceQuotaSnapshot } from '../wire/messages-quota.js';
import { decodeMessage, type TypeOf } from '../wire/schema.js';
import type { MasterClient } from './master-client.js';
import { master } from './rpcs.js';
import { tableNameMessage, tableNameText } from './table-codec.js';
import { COUNTED, type Throttle, type ThrottleSubject, UNITS } from './traffic-admin.js';

/** What happens where a limit of space is passed, in the order of HBase's numbers, which begin with 1. */
const POLICIES = ['DISABLE', 'NO_WRITES_COMPACTIONS', 'NO_WRITES', 'NO_INSERTS'] as const;

export type SpaceViolationPolicy = (typeof POLICIES)[number];

/** Whose files are counted: a table's, or those of all tables of a namespace. */
export type SpaceSubject =
  | { readonly table: string; readonly namespace?: undefined }
  | { readonly namespace: string; readonly table?: undefined };

export interface SpaceQuota {
  /** Bytes. */
  readonly limit: number;
  readonly policy: SpaceViolationPolicy;
}

/** What was set for one subject. */
export interface Quota {
  readonly subject: ThrottleSubject;
  readonly throttles: readonly Throttle[];
  readonly space: SpaceQuota | undefined;
}

export interface SpaceQuotaState {
  readonly subject: SpaceSubject;
  /** Bytes, as the master counted them last. */
  readonly used: number;
  readonly limit: number;
  readonly violated: boolean;
}

const QUOTA_TABLE = 'hbase:quota';
const FAMILY = 'q';
const SETTINGS = 's';
const MAGIC = 'PBUF';

/** Quotas: they are rows of `hbase:quota`, which is there when `hbase.quota.enabled` is set. */
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
