/** `Client.proto`: files that regions take in whole. */

import { RegionSpecifier, TableNameMessage } from './messages-rpc.js';
import { bool, bytes, message, nested, repeated, required, string } from './schema.js';

export const PrepareBulkLoadRequest = message('PrepareBulkLoadRequest', {
  tableName: required(nested(1, TableNameMessage)),
  region: nested(2, RegionSpecifier),
});
export const PrepareBulkLoadResponse = message('PrepareBulkLoadResponse', { bulkToken: required(string(1)) });

export const FamilyPath = message('FamilyPath', { family: required(bytes(1)), path: required(string(2)) });
/** A token of the file system. */
export const FileSystemTokenMessage = message('DelegationToken', {
  identifier: bytes(1),
  password: bytes(2),
  kind: string(3),
  service: string(4),
});
export const BulkLoadHFileRequest = message('BulkLoadHFileRequest', {
  region: required(nested(1, RegionSpecifier)),
  familyPath: repeated(nested(2, FamilyPath)),
  assignSeqNum: bool(3),
  fsToken: nested(4, FileSystemTokenMessage),
  bulkToken: string(5),
  copyFile: bool(6),
  replicate: bool(8),
});
export const BulkLoadHFileResponse = message('BulkLoadHFileResponse', { loaded: required(bool(1)) });

export const CleanupBulkLoadRequest = message('CleanupBulkLoadRequest', {
  bulkToken: required(string(1)),
  region: nested(2, RegionSpecifier),
});
