import * as messages from '../../../hbase/wire/messages-admin.js';
import { Empty } from '../../../hbase/wire/schema.js';
import { JavaClass, noCoprocessor, notOffered, ServerException } from '../../errors.js';
import type { Service } from '../../rpc/request.js';
import { checkWritable, type ServerParts } from '../parts.js';
import { Procedures } from '../procedures.js';
import { method } from '../registry-service.js';
import { clusterCalls, namespaceCalls } from './cluster-calls.js';
import { tableCalls } from './table-calls.js';

const State = { NotFound: 0, Running: 1, Finished: 2 } as const;

/** Calls of HBase clients that are refused with a message. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  setquota: 'Quotas (SetQuota)',
  getquotastates: 'Quotas (GetQuotaStates)',
  getspacequotaregionsizes: 'Quotas (GetSpaceQuotaRegionSizes)',
  switchrpcthrottle: 'Quotas (SwitchRpcThrottle)',
  isrpcthrottleenabled: 'Quotas (IsRpcThrottleEnabled)',
  addreplicationpeer: 'Replication (AddReplicationPeer)',
  listreplicationpeers: 'Replication (ListReplicationPeers)',
  removereplicationpeer: 'Replication (RemoveReplicationPeer)',
  grant: 'Access control (Grant)',
  revoke: 'Access control (Revoke)',
  getuserpermissions: 'Access control (GetUserPermissions)',
  haspermissions: 'Access control (HasPermissions)',
  shutdown: 'Stopping the server over the network (Shutdown)',
  stopmaster: 'Stopping the server over the network (StopMaster)',
  addrsgroup: 'Groups of servers (AddRSGroup)',
  listrsgroupinfos: 'Groups of servers (ListRSGroupInfos)',
};

/** `MasterService`: tables, namespaces, snapshots and the cluster, and the progress of their changes. */
export function masterService(parts: ServerParts): Service {
  const procedures = new Procedures(
    () => Date.now(),
    () => checkWritable(parts),
  );
  return {
    ...refusals(),
    ...tableCalls(parts, procedures),
    ...namespaceCalls(parts, procedures),
    ...snapshotCalls(parts, procedures),
    ...clusterCalls(parts),
    execmasterservice: () => {
      throw noCoprocessor('ExecMasterService');
    },
    getprocedureresult: method(
      messages.GetProcedureResultRequest,
      messages.GetProcedureResultResponse,
      ({ procId }) => resultOf(procedures, procId),
    ),
  };
}

function refusals(): Service {
  return Object.fromEntries(
    Object.entries(NOT_OFFERED).map(([name, what]) => [
      name,
      () => {
        throw notOffered(what);
      },
    ]),
  );
}

function resultOf(
  procedures: Procedures,
  procId: number,
): Parameters<typeof messages.GetProcedureResultResponse.write>[1] {
  const procedure = procedures.find(procId);
  if (procedure === undefined) return { state: State.NotFound };
  const { endedAt, failure } = procedure;
  if (endedAt === undefined) return { state: State.Running };
  if (failure === undefined) return { state: State.Finished };
  const genericException = { className: failure.javaClass, message: failure.message };
  return { state: State.Finished, exception: { source: 'rowan serve', genericException } };
}

/** The base value of the type in `Snapshot.proto`. */
const FLUSH_TYPE = 1;

function snapshotCalls(parts: ServerParts, procedures: Procedures): Service {
  const { admin } = parts.engine;
  const find = async (name: string) => (await admin.listSnapshots()).find((each) => each.name === name);
  const known = async (name: string) => {
    const snapshot = await find(name);
    if (snapshot !== undefined) return snapshot;
    throw new ServerException(
      JavaClass.SnapshotDoesNotExist,
      `Snapshot '${name}' doesn't exist on the filesystem`,
    );
  };
  return {
    snapshot: method(messages.SnapshotRequest, messages.SnapshotResponse, async ({ snapshot }) => {
      checkWritable(parts);
      if ((await find(snapshot.name)) !== undefined) {
        throw new ServerException(
          JavaClass.SnapshotExists,
          `Snapshot '${snapshot.name}' already stored on the filesystem.`,
        );
      }
      const { name, table = '' } = snapshot;
      if (!(await admin.tableExists(table))) {
        throw new ServerException(
          JavaClass.SnapshotCreation,
          `Table '${table}' doesn't exist, can't take snapshot.`,
        );
      }
      await admin.snapshot(name, table);
      return { expectedTimeout: 60_000 };
    }),
    issnapshotdone: method(
      messages.IsSnapshotDoneRequest,
      messages.IsSnapshotDoneResponse,
      async ({ snapshot }) => ({
        done: snapshot !== undefined && (await known(snapshot.name)) !== undefined,
      }),
    ),
    getcompletedsnapshots: async () => {
      const snapshots = await admin.listSnapshots();
      return {
        writeMessage: (writer) =>
          messages.GetCompletedSnapshotsResponse.write(writer, {
            snapshots: snapshots.map(({ name, table, creationTime }) => ({
              name,
              table,
              creationTime,
              type: FLUSH_TYPE,
            })),
          }),
      };
    },
    deletesnapshot: method(messages.DeleteSnapshotRequest, Empty, async ({ snapshot }) => {
      checkWritable(parts);
      await known(snapshot.name);
      await admin.deleteSnapshot(snapshot.name);
      return {};
    }),
    restoresnapshot: method(
      messages.RestoreSnapshotRequest,
      messages.RestoreSnapshotResponse,
      async (request) => {
        checkWritable(parts);
        const { snapshot } = request;
        const { table } = await known(snapshot.name);
        const target = snapshot.table ?? table;
        return procedures.run(request, async () => {
          if (target === table && (await admin.tableExists(table)))
            await admin.restoreSnapshot(snapshot.name);
          else await admin.cloneSnapshot(snapshot.name, target);
        });
      },
    ),
  };
}
