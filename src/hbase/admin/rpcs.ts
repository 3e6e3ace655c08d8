/** The methods of `MasterService` and `AdminService` that the admin calls, names case exact. */

import * as access from '../wire/messages-access.js';
import * as messages from '../wire/messages-admin.js';
import * as quota from '../wire/messages-quota.js';
import * as slowLog from '../wire/messages-slow-log.js';
import { Empty, type MessageCodec } from '../wire/schema.js';
import type { Rpc } from './master-client.js';

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
