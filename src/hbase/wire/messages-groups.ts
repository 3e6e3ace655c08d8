/** `RSGroup.proto` and `RSGroupAdmin.proto`. */

import { NameStringPair, ServerName, TableNameMessage } from './messages-rpc.js';
import { bool, message, nested, repeated, required, string, type TypeOf, uint32 } from './schema.js';

export const GroupInfo = message('RSGroupInfo', {
  name: required(string(1)),
  tables: repeated(nested(3, TableNameMessage)),
  servers: repeated(nested(4, ServerName)),
  configuration: repeated(nested(5, NameStringPair)),
});
export type GroupInfo = TypeOf<typeof GroupInfo>;

/** `AddRSGroupRequest`, `RemoveRSGroupRequest`, `GetRSGroupInfoRequest`. */
export const GroupNameRequest = message('GetRSGroupInfoRequest', { name: required(string(1)) });
/** `GetRSGroupInfoResponse` and its like of a table and of a server. */
export const GroupInfoResponse = message('GetRSGroupInfoResponse', { group: nested(1, GroupInfo) });
export const GroupOfTableRequest = message('GetRSGroupInfoOfTableRequest', {
  tableName: required(nested(1, TableNameMessage)),
});
export const GroupOfServerRequest = message('GetRSGroupInfoOfServerRequest', {
  server: required(nested(2, ServerName)),
});
export const ListGroupsResponse = message('ListRSGroupInfosResponse', {
  groups: repeated(nested(1, GroupInfo)),
});
export const MoveServersRequest = message('MoveServersRequest', {
  group: required(string(1)),
  servers: repeated(nested(3, ServerName)),
});
export const MoveTablesRequest = message('MoveTablesRequest', {
  group: required(string(1)),
  tables: repeated(nested(2, TableNameMessage)),
});
export const MoveServersAndTablesRequest = message('MoveServersAndTablesRequest', {
  group: required(string(1)),
  servers: repeated(nested(2, ServerName)),
  tables: repeated(nested(3, TableNameMessage)),
});
export const RemoveServersRequest = message('RemoveServersRequest', {
  servers: repeated(nested(1, ServerName)),
});
export const RenameGroupRequest = message('RenameRSGroupRequest', {
  from: required(string(1)),
  to: required(string(2)),
});
export const ConfigureGroupRequest = message('UpdateRSGroupConfigRequest', {
  name: required(string(1)),
  configuration: repeated(nested(2, NameStringPair)),
});
export const BalanceGroupRequest = message('BalanceRSGroupRequest', {
  name: required(string(1)),
  ignoreRit: bool(2),
});
export const BalanceGroupResponse = message('BalanceRSGroupResponse', {
  balanceRan: required(bool(1)),
  /** Since 2.5. */
  movesCalculated: uint32(2),
  movesExecuted: uint32(3),
});
