/** `Quota.proto`, and what of `Master.proto` goes with it. */

import { TableNameMessage } from './messages-rpc.js';
import { bool, int32, message, nested, repeated, required, string, uint64 } from './schema.js';

export const TimedQuota = message('TimedQuota', {
  timeUnit: required(int32(1)),
  softLimit: uint64(2),
  scope: int32(4),
});
const ThrottleMessage = message('Throttle', {
  reqNum: nested(1, TimedQuota),
  reqSize: nested(2, TimedQuota),
  writeNum: nested(3, TimedQuota),
  writeSize: nested(4, TimedQuota),
  readNum: nested(5, TimedQuota),
  readSize: nested(6, TimedQuota),
});
export const ThrottleRequest = message('ThrottleRequest', {
  type: int32(1),
  timedQuota: nested(2, TimedQuota),
});
const SpaceQuotaMessage = message('SpaceQuota', {
  softLimit: uint64(1),
  violationPolicy: int32(2),
  remove: bool(3),
});
const SpaceLimitRequest = message('SpaceLimitRequest', { quota: nested(1, SpaceQuotaMessage) });
/** What a row of `hbase:quota` holds behind its magic. */
export const QuotasMessage = message('Quotas', {
  throttle: nested(2, ThrottleMessage),
  space: nested(3, SpaceQuotaMessage),
});
export const SetQuotaRequest = message('SetQuotaRequest', {
  userName: string(1),
  namespace: string(3),
  tableName: nested(4, TableNameMessage),
  removeAll: bool(5),
  throttle: nested(7, ThrottleRequest),
  spaceLimit: nested(8, SpaceLimitRequest),
});

const SpaceQuotaStatus = message('SpaceQuotaStatus', { violationPolicy: int32(1), inViolation: bool(2) });
export const SpaceQuotaSnapshot = message('SpaceQuotaSnapshot', {
  quotaStatus: nested(1, SpaceQuotaStatus),
  quotaUsage: uint64(2),
  quotaLimit: uint64(3),
});
export const GetQuotaStatesResponse = message('GetQuotaStatesResponse', {
  tables: repeated(
    nested(
      1,
      message('TableQuotaSnapshot', {
        tableName: nested(1, TableNameMessage),
        snapshot: nested(2, SpaceQuotaSnapshot),
      }),
    ),
  ),
  namespaces: repeated(
    nested(
      2,
      message('NamespaceQuotaSnapshot', { namespace: string(1), snapshot: nested(2, SpaceQuotaSnapshot) }),
    ),
  ),
});
