import {
  BytesBytesPair,
  NameBytesPair,
  NameStringPair,
  RegionSpecifier,
  TableNameMessage,
} from './messages-rpc.js';
import {
  bool,
  bytes,
  encodeMessage,
  int32,
  int64,
  message,
  nested,
  repeated,
  required,
  string,
  type TypeOf,
  uint32,
} from './schema.js';

// — `AccessControl.proto`, `Replication.proto` and their messages of `Master.proto`.

/** Actions: 0 read, 1 write, 2 execute, 3 create, 4 administer. */
export const GlobalPermission = message('GlobalPermission', { action: repeated(int32(1)) });
export const NamespacePermission = message('NamespacePermission', {
  namespaceName: bytes(1),
  action: repeated(int32(2)),
});
export const TablePermission = message('TablePermission', {
  tableName: nested(1, TableNameMessage),
  family: bytes(2),
  qualifier: bytes(3),
  action: repeated(int32(4)),
});
/** Type 1 global, 2 namespace, 3 table. */
export const PermissionMessage = message('Permission', {
  type: required(int32(1)),
  globalPermission: nested(2, GlobalPermission),
  namespacePermission: nested(3, NamespacePermission),
  tablePermission: nested(4, TablePermission),
});
export type PermissionMessage = TypeOf<typeof PermissionMessage>;
export const UserPermission = message('UserPermission', {
  user: required(bytes(1)),
  permission: required(nested(3, PermissionMessage)),
});
export const GrantRequest = message('GrantRequest', {
  userPermission: required(nested(1, UserPermission)),
  mergeExistingPermissions: bool(2),
});
export const RevokeRequest = message('RevokeRequest', {
  userPermission: required(nested(1, UserPermission)),
});
export const GetUserPermissionsRequest = message('GetUserPermissionsRequest', {
  type: int32(1),
  tableName: nested(2, TableNameMessage),
  namespaceName: bytes(3),
  userName: bytes(6),
});
export const GetUserPermissionsResponse = message('GetUserPermissionsResponse', {
  userPermission: repeated(nested(1, UserPermission)),
});

export const BalanceRequest = message('BalanceRequest', { force: bool(1) });
export const BalanceResponse = message('BalanceResponse', { balancerRan: required(bool(1)) });

export const ReplicationPeer = message('ReplicationPeer', {
  clusterkey: string(1),
  replicationEndpointImpl: string(2),
  data: repeated(nested(3, BytesBytesPair)),
  configuration: repeated(nested(4, NameStringPair)),
  bandwidth: int64(7),
  replicateAll: bool(8),
  serial: bool(11),
});
/** State 0 enabled, 1 disabled. */
export const ReplicationState = message('ReplicationState', { state: required(int32(1)) });
export const ReplicationPeerDescription = message('ReplicationPeerDescription', {
  id: required(string(1)),
  state: required(nested(2, ReplicationState)),
  config: required(nested(3, ReplicationPeer)),
});
export const AddReplicationPeerRequest = message('AddReplicationPeerRequest', {
  peerId: required(string(1)),
  peerConfig: required(nested(2, ReplicationPeer)),
  peerState: required(nested(3, ReplicationState)),
});
/** `RemoveReplicationPeerRequest`, `EnableReplicationPeerRequest`, `DisableReplicationPeerRequest`. */
export const PeerRequest = message('PeerRequest', { peerId: required(string(1)) });
export const ListReplicationPeersResponse = message('ListReplicationPeersResponse', {
  peerDesc: repeated(nested(1, ReplicationPeerDescription)),
});

// — `VisibilityLabels.proto`, and the visibility messages of `Client.proto`.

/** The attributes of a mutation's expression and of a query's labels. */
export const VISIBILITY = 'VISIBILITY';

export const CellVisibility = message('CellVisibility', { expression: required(string(1)) });
export const Authorizations = message('Authorizations', { label: repeated(string(1)) });

/** The value of the mutation's attribute. */
export function encodeVisibility(expression: string): Uint8Array {
  return encodeMessage(CellVisibility, { expression });
}

const VisibilityLabel = message('VisibilityLabel', { label: required(bytes(1)), ordinal: uint32(2) });
export const VisibilityLabelsRequest = message('VisibilityLabelsRequest', {
  visLabel: repeated(nested(1, VisibilityLabel)),
});
/** The outcome for one label: empty, or an exception. */
const LabelResult = message('RegionActionResult', { exception: nested(2, NameBytesPair) });
export const VisibilityLabelsResponse = message('VisibilityLabelsResponse', {
  result: repeated(nested(1, LabelResult)),
});
export const SetAuthsRequest = message('SetAuthsRequest', {
  user: required(bytes(1)),
  auth: repeated(bytes(2)),
});
export const GetAuthsRequest = message('GetAuthsRequest', { user: required(bytes(1)) });
export const GetAuthsResponse = message('GetAuthsResponse', {
  user: required(bytes(1)),
  auth: repeated(bytes(2)),
});
export const ListLabelsRequest = message('ListLabelsRequest', { regex: string(1) });
export const ListLabelsResponse = message('ListLabelsResponse', { label: repeated(bytes(1)) });

// — `Client.proto` and `Authentication.proto`: calls of coprocessor endpoints, and the request for delegation tokens.

export const CoprocessorServiceCall = message('CoprocessorServiceCall', {
  row: required(bytes(1)),
  serviceName: required(string(2)),
  methodName: required(string(3)),
  request: required(bytes(4)),
});
export const CoprocessorServiceRequest = message('CoprocessorServiceRequest', {
  region: required(nested(1, RegionSpecifier)),
  call: required(nested(2, CoprocessorServiceCall)),
});
export const CoprocessorServiceResponse = message('CoprocessorServiceResponse', {
  region: required(nested(1, RegionSpecifier)),
  value: required(nested(2, NameBytesPair)),
});

/** HBase leaves `service` empty; the Java client sets the cluster id. */
export const TokenMessage = message('Token', { identifier: bytes(1), password: bytes(2), service: bytes(3) });
export const GetAuthenticationTokenResponse = message('GetAuthenticationTokenResponse', {
  token: nested(1, TokenMessage),
});
export const WhoAmIResponse = message('WhoAmIResponse', { username: string(1), authMethod: string(2) });
