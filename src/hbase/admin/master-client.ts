import { type RowanError, TimeoutError } from '../../errors.js';
import type { Cluster } from '../client/cluster.js';
import { exhaustedError, pauseBefore, sleep, suggestsStaleLocation } from '../client/retry.js';
import { asRowanError, Priority, UnaryCall } from '../rpc/call.js';
import type { ServerAddress, ServiceName } from '../rpc/connection-settings.js';
import { RemoteError, remoteError } from '../rpc/errors.js';
import * as messages from '../wire/messages-admin.js';
import { GetProcedureResultRequest, GetProcedureResultResponse } from '../wire/messages-admin.js';
import * as quota from '../wire/messages-operations.js';
import * as slowLog from '../wire/messages-operations.js';
import type { TableNameMessage } from '../wire/messages-rpc.js';
import * as access from '../wire/messages-security.js';
import { Empty, type MessageCodec } from '../wire/schema.js';

/** A method of `MasterService` or `AdminService`; names are case exact. */
function rpc<Q, A>(method: string, request: MessageCodec<Q>, response: MessageCodec<A>): Rpc<Q, A> {
  return { method, request, response };
}

const { ProcedureResponse, TableRequest } = messages;

export const master = {
  createNamespace: rpc('CreateNamespace', messages.CreateNamespaceRequest, ProcedureResponse),
  modifyNamespace: rpc('ModifyNamespace', messages.ModifyNamespaceRequest, ProcedureResponse),
  getNamespaceDescriptor: rpc(
    'GetNamespaceDescriptor',
    messages.GetNamespaceDescriptorRequest,
    messages.GetNamespaceDescriptorResponse,
  ),
  deleteNamespace: rpc('DeleteNamespace', messages.DeleteNamespaceRequest, ProcedureResponse),
  listNamespaces: rpc('ListNamespaces', Empty, messages.ListNamespacesResponse),
  createTable: rpc('CreateTable', messages.CreateTableRequest, ProcedureResponse),
  deleteTable: rpc('DeleteTable', TableRequest, ProcedureResponse),
  enableTable: rpc('EnableTable', TableRequest, ProcedureResponse),
  disableTable: rpc('DisableTable', TableRequest, ProcedureResponse),
  truncateTable: rpc('truncateTable', messages.TruncateTableRequest, ProcedureResponse),
  modifyTable: rpc('ModifyTable', messages.ModifyTableRequest, ProcedureResponse),
  getTableState: rpc('GetTableState', messages.GetTableStateRequest, messages.GetTableStateResponse),
  getTableDescriptors: rpc(
    'GetTableDescriptors',
    messages.GetTableDescriptorsRequest,
    messages.GetTableDescriptorsResponse,
  ),
  splitRegion: rpc('SplitRegion', messages.SplitTableRegionRequest, ProcedureResponse),
  mergeTableRegions: rpc('MergeTableRegions', messages.MergeTableRegionsRequest, ProcedureResponse),
  moveRegion: rpc('MoveRegion', messages.MoveRegionRequest, Empty),
  assignRegion: rpc('AssignRegion', messages.RegionRequest, Empty),
  unassignRegion: rpc('UnassignRegion', messages.RegionRequest, Empty),
  isBalancerEnabled: rpc('IsBalancerEnabled', Empty, messages.IsBalancerEnabledResponse),
  setBalancerRunning: rpc(
    'SetBalancerRunning',
    messages.SetBalancerRunningRequest,
    messages.SetBalancerRunningResponse,
  ),
  balance: rpc('Balance', access.BalanceRequest, access.BalanceResponse),
  grant: rpc('Grant', access.GrantRequest, Empty),
  revoke: rpc('Revoke', access.RevokeRequest, Empty),
  getUserPermissions: rpc(
    'GetUserPermissions',
    access.GetUserPermissionsRequest,
    access.GetUserPermissionsResponse,
  ),
  setQuota: rpc('SetQuota', quota.SetQuotaRequest, Empty),
  getQuotaStates: rpc('GetQuotaStates', Empty, quota.GetQuotaStatesResponse),
  addReplicationPeer: rpc('AddReplicationPeer', access.AddReplicationPeerRequest, ProcedureResponse),
  removeReplicationPeer: rpc('RemoveReplicationPeer', access.PeerRequest, ProcedureResponse),
  enableReplicationPeer: rpc('EnableReplicationPeer', access.PeerRequest, ProcedureResponse),
  disableReplicationPeer: rpc('DisableReplicationPeer', access.PeerRequest, ProcedureResponse),
  listReplicationPeers: rpc('ListReplicationPeers', Empty, access.ListReplicationPeersResponse),
  getClusterStatus: rpc(
    'GetClusterStatus',
    messages.GetClusterStatusRequest,
    messages.GetClusterStatusResponse,
  ),
  snapshot: rpc('Snapshot', messages.SnapshotRequest, messages.SnapshotResponse),
  isSnapshotDone: rpc('IsSnapshotDone', messages.IsSnapshotDoneRequest, messages.IsSnapshotDoneResponse),
  deleteSnapshot: rpc('DeleteSnapshot', messages.DeleteSnapshotRequest, Empty),
  getCompletedSnapshots: rpc('GetCompletedSnapshots', Empty, messages.GetCompletedSnapshotsResponse),
  restoreSnapshot: rpc('RestoreSnapshot', messages.RestoreSnapshotRequest, messages.RestoreSnapshotResponse),
} as const;

export const regionServer = {
  flushRegion: rpc('FlushRegion', messages.FlushRegionRequest, Empty),
  compactRegion: rpc('CompactRegion', messages.CompactRegionRequest, Empty),
  getRegionInfo: rpc('GetRegionInfo', messages.GetRegionInfoRequest, messages.GetRegionInfoResponse),
  getLogEntries: rpc('GetLogEntries', slowLog.LogRequest, slowLog.LogEntry),
  clearSlowLogs: rpc('ClearSlowLogsResponses', Empty, slowLog.ClearSlowLogsResponse),
  getRegionLoad: rpc('GetRegionLoad', messages.GetRegionLoadRequest, messages.GetRegionLoadResponse),
} as const;

/** A method of a service, with its request and response messages. */
export interface Rpc<Q, A> {
  readonly method: string;
  readonly request: MessageCodec<Q>;
  readonly response: MessageCodec<A>;
}

/** The namespace of HBase's own tables. */
const SYSTEM_NAMESPACE = 'hbase';
const FIRST_POLL = 10;
const LONGEST_POLL = 500;
const NOT_FOUND = 0;
const RUNNING = 1;

/** The exceptions of a master that initializes after its election. */
const STARTING = /^(?:PleaseHold|ServerNotRunningYet|MasterNotRunning)Exception$/;

/** Caps the pause between calls to an initializing master at that of this attempt (1 s by default). */
const STARTING_ATTEMPTS = 5;

/** High for HBase's system tables, as in the Java client (`ConnectionUtils.getPriority`). */
function priorityOf(request: unknown): number {
  const { tableName } = request as { readonly tableName?: TableNameMessage };
  const isSystem =
    tableName !== undefined && Buffer.from(tableName.namespace).toString('utf8') === SYSTEM_NAMESPACE;
  return isSystem ? Priority.High : Priority.Normal;
}

function isStarting(error: RowanError): boolean {
  return error instanceof RemoteError && STARTING.test(error.simpleClass);
}

/** Calls to the active master, and admin calls to region servers. */
export class MasterClient {
  private master: ServerAddress | undefined;

  constructor(private readonly cluster: Cluster) {}

  /** The deadline of a call that begins now, with its procedures. */
  deadline(): number {
    return performance.now() + this.cluster.settings.adminTimeout;
  }

  /**
   * Calls the active master. While there is none, it is looked up again for up to `operationTimeout`. A master that is initializing is
   * awaited for up to `adminTimeout`.
   */
  call<Q, A>(rpc: Rpc<Q, A>, request: Q): Promise<A> {
    const { operationTimeout, rpcTimeout } = this.cluster.settings;
    return this.callWithin(rpc, request, performance.now() + operationTimeout, rpcTimeout);
  }

  /** As `call`, for methods that the master answers at the end, which may take as long as a procedure. */
  callLong<Q, A>(rpc: Rpc<Q, A>, request: Q): Promise<A> {
    return this.callWithin(rpc, request, this.deadline(), this.cluster.settings.adminTimeout);
  }

  private callWithin<Q, A>(rpc: Rpc<Q, A>, request: Q, deadline: number, longest: number): Promise<A> {
    return this.repeat(rpc.method, deadline, async (timeLeft) => {
      const { rpcTimeout } = this.cluster.settings;
      this.master ??= await this.cluster.registry.activeMaster(Math.min(rpcTimeout, timeLeft));
      try {
        return await this.send(this.master, 'MasterService', rpc, request, Math.min(longest, timeLeft));
      } catch (error) {
        if (suggestsStaleLocation(asRowanError(error))) this.master = undefined;
        throw error;
      }
    });
  }

  /** Starts a procedure of the master and waits for its end. */
  async procedure<Q>(
    rpc: Rpc<Q, { readonly procId?: number | undefined }>,
    request: Q,
    what: string,
  ): Promise<void> {
    const deadline = this.deadline();
    const { procId } = await this.call(rpc, request);
    await this.awaitProcedure(procId, what, deadline);
  }

  /** Calls the admin service of a region server, once. */
  callServer<Q, A>(server: ServerAddress, rpc: Rpc<Q, A>, request: Q, deadline: number): Promise<A> {
    const timeout = Math.min(this.cluster.settings.rpcTimeout, deadline - performance.now());
    return this.send(server, 'AdminService', rpc, request, timeout);
  }

  /** Retries `attempt` until it succeeds, fails for good or times out. The timeout restarts while a master is initializing. */
  async repeat<T>(what: string, deadline: number, attempt: (timeLeft: number) => Promise<T>): Promise<T> {
    const { settings } = this.cluster;
    const patience = this.deadline();
    let until = deadline;
    let failures = 0;
    for (let attempts = 1; ; attempts++) {
      try {
        return await attempt(until - performance.now());
      } catch (thrown) {
        const error = asRowanError(thrown);
        if (!error.retryable || this.cluster.isClosed) throw error;
        const starting = isStarting(error) && settings.retries > 0;
        if (starting)
          until = Math.max(until, Math.min(patience, performance.now() + settings.operationTimeout));
        else failures++;
        const timeLeft = until - performance.now();
        if (timeLeft <= 0 || failures > settings.retries)
          throw exhaustedError(error, what, attempts, 'no time or retries left');
        const tried = starting ? Math.min(attempts, STARTING_ATTEMPTS) : attempts;
        await sleep(Math.min(timeLeft, pauseBefore(tried, settings.pause, error)));
      }
    }
  }

  /**
   * Waits for the end of a procedure.
   * @throws RowanError the procedure's error; TimeoutError when it still runs at the deadline.
   */
  async awaitProcedure(procId: number | undefined, what: string, deadline: number): Promise<void> {
    if (procId === undefined) return;
    const rpc = {
      method: 'getProcedureResult',
      request: GetProcedureResultRequest,
      response: GetProcedureResultResponse,
    };
    for (let pause = FIRST_POLL; ; pause = Math.min(LONGEST_POLL, pause * 1.5)) {
      const { state, exception } = await this.call(rpc, { procId });
      if (state !== RUNNING) {
        // Not found: it has ended, and an attempt whose answer was lost has collected its result.
        if (state === NOT_FOUND || exception === undefined) return;
        throw this.procedureError(exception, what);
      }
      if (performance.now() + pause > deadline) {
        throw new TimeoutError(
          `${what} is still running on the master (procedure ${procId}). Look again later.`,
        );
      }
      await sleep(pause);
    }
  }

  private procedureError(
    exception: NonNullable<Awaited<ReturnType<typeof GetProcedureResultResponse.read>>['exception']>,
    what: string,
  ): RowanError {
    const generic = exception.genericException;
    return remoteError(
      {
        className: generic?.className ?? 'java.io.IOException',
        stackTrace: generic?.message ?? '',
        doNotRetry: true,
      },
      exception.source ?? 'the master',
      what,
    );
  }

  private async send<Q, A>(
    address: ServerAddress,
    service: ServiceName,
    rpc: Rpc<Q, A>,
    request: Q,
    timeout: number,
  ): Promise<A> {
    const call = new UnaryCall(
      rpc.method,
      Math.max(1, timeout),
      rpc.request,
      request,
      rpc.response,
      priorityOf(request),
    );
    this.cluster.pool.get(address, service).send(call);
    return call.answer;
  }
}
