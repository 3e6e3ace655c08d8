/** `TooSlowLog.proto`, and what of `Admin.proto` and `HBase.proto` asks for it. */

import { NameBytesPair } from './messages-rpc.js';
import { bool, bytes, int32, int64, message, nested, repeated, required, string, uint32 } from './schema.js';

/** The request is named by its Java class and enclosed, and so is the answer. */
export const LogRequest = message('LogRequest', {
  logClassName: required(string(1)),
  logMessage: required(bytes(2)),
});
export const LogEntry = LogRequest;

export const SlowLogRequest = message('SlowLogResponseRequest', {
  regionName: string(1),
  tableName: string(2),
  clientAddress: string(3),
  userName: string(4),
  limit: uint32(5),
  /** 0 and, 1 or. */
  filterByOperator: int32(6),
  /** 0 slow, 1 large. */
  logType: int32(7),
});

export const SlowLogPayload = message('SlowLogPayload', {
  startTime: required(int64(1)),
  processingTime: required(int32(2)),
  queueTime: required(int32(3)),
  responseSize: required(int64(4)),
  clientAddress: required(string(5)),
  methodName: required(string(7)),
  callDetails: required(string(8)),
  param: string(9),
  userName: required(string(10)),
  regionName: string(11),
  multiGets: int32(12),
  multiMutations: int32(13),
  /** Since 2.6, as the attributes. */
  blockBytesScanned: int64(16),
  connectionAttribute: repeated(nested(18, NameBytesPair)),
  requestAttribute: repeated(nested(19, NameBytesPair)),
});
export const SlowLogResponses = message('SlowLogResponses', {
  payloads: repeated(nested(1, SlowLogPayload)),
});
export const ClearSlowLogsResponse = message('ClearSlowLogResponses', { isCleaned: required(bool(1)) });
