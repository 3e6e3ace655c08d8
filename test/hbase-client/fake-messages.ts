/** The messages of `Client.proto` that the client writes by hand, as tables: to read what it wrote, and to answer. */

import { NameBytesPair, RegionSpecifier } from '../../src/hbase/wire/messages-rpc.js';
import {
  bigUint64,
  bool,
  bytes,
  int32,
  message,
  nested,
  repeated,
  required,
  string,
  uint32,
  uint64,
} from '../../src/hbase/wire/schema.js';

const region = required(nested(1, RegionSpecifier));

const Column = message('Column', { family: required(bytes(1)), qualifier: repeated(bytes(2)) });
const Get = message('Get', {
  row: required(bytes(1)),
  column: repeated(nested(2, Column)),
  maxVersions: uint32(6),
  existenceOnly: bool(10),
  consistency: int32(12),
});
export const GetRequest = message('GetRequest', { region, get: required(nested(2, Get)) });
const Mutation = message('MutationProto', {
  row: bytes(1),
  type: int32(2),
  timestamp: bigUint64(4),
  attribute: repeated(nested(5, NameBytesPair)),
  durability: int32(6),
  cellCount: int32(8),
  nonce: bigUint64(9),
});
const Condition = message('Condition', {
  row: required(bytes(1)),
  family: bytes(2),
  qualifier: bytes(3),
  compareType: int32(4),
  comparator: bytes(5),
  filter: bytes(7),
});
export const MutateRequest = message('MutateRequest', {
  region,
  mutation: required(nested(2, Mutation)),
  condition: nested(3, Condition),
  nonceGroup: bigUint64(4),
});
const Action = message('Action', {
  index: uint32(1),
  mutation: nested(2, Mutation),
  get: nested(3, Get),
});
const RegionAction = message('RegionAction', {
  region,
  atomic: bool(2),
  action: repeated(nested(3, Action)),
  condition: nested(4, Condition),
});
export const MultiRequest = message('MultiRequest', {
  regionAction: repeated(nested(1, RegionAction)),
  nonceGroup: bigUint64(2),
});
const Result = message('Result', { cellCount: int32(2), exists: bool(3), stale: bool(4) });
const ResultOrException = message('ResultOrException', {
  index: uint32(1),
  result: nested(2, Result),
  exception: nested(3, NameBytesPair),
});
const RegionActionResult = message('RegionActionResult', {
  results: repeated(nested(1, ResultOrException)),
  exception: nested(2, NameBytesPair),
  processed: bool(3),
});
export const MultiResponse = message('MultiResponse', { regions: repeated(nested(1, RegionActionResult)) });
export const GetResponse = message('GetResponse', { result: nested(1, Result) });
export const MutateResponse = message('MutateResponse', { result: nested(1, Result), processed: bool(2) });
const NamedFilter = message('Filter', { name: string(1), serializedFilter: bytes(2) });
const ScanMessage = message('Scan', {
  startRow: bytes(3),
  stopRow: bytes(4),
  includeStartRow: bool(21),
  filter: nested(5, NamedFilter),
  maxVersions: uint32(7),
  reversed: bool(15),
  readPoint: bigUint64(20),
  needsCursor: bool(24),
});
export const ScanRequest = message('ScanRequest', {
  region: nested(1, RegionSpecifier),
  scan: nested(2, ScanMessage),
  scannerId: bigUint64(3),
  numberOfRows: uint32(4),
  closeScanner: bool(5),
  nextCallSeq: uint32(6),
  handlesPartials: bool(7),
  handlesHeartbeats: bool(8),
  tracksMetrics: bool(9),
  renew: bool(10),
  limitOfRows: uint32(11),
});
const Metric = message('NameInt64Pair', { name: string(1), value: uint64(2) });
const ScanMetrics = message('ScanMetrics', { metrics: repeated(nested(1, Metric)) });
const Cursor = message('Cursor', { row: bytes(1) });
export const ScanResponse = message('ScanResponse', {
  cellsPerResult: repeated(uint32(1)),
  scannerId: bigUint64(2),
  moreResults: bool(3),
  ttl: uint32(4),
  stale: bool(6),
  partial: repeated(bool(7)),
  moreResultsInRegion: bool(8),
  heartbeat: bool(9),
  metrics: nested(10, ScanMetrics),
  readPoint: bigUint64(11),
  cursor: nested(12, Cursor),
});
