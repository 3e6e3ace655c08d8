/**
 * `rowan-orm/table`: HBase's data model (rows of cells in families), the one interface that both engines implement, and
 * the embedded engine by itself. It is what lies beneath the entities: `db.engine` and `db.admin` give it too.
 */

export {
  type BytesLike,
  compareBytes,
  fromHex,
  fromStringBinary,
  prefixEnd,
  toBytes,
  toHex,
  toStringBinary,
} from '../bytes/index.js';
export type { CompactionSettings } from '../store/background/compaction-policy.js';
export type { EmbeddedAdmin } from '../store/embedded-admin.js';
export type { EncryptionOptions } from '../store/encryption/keys.js';
export { type EmbeddedEngine, openEmbedded } from '../store/engine.js';
export type { StoreEvent, StoreLocation } from '../store/events.js';
export type { DirectoryLock, FileHandle, FileSystem } from '../store/fs/index.js';
export type { StoreMetric } from '../store/metrics.js';
export type { EmbeddedOptions } from '../store/options.js';
export type { StoreMoment } from '../store/read-only/follower.js';
export {
  openReadOnly,
  type ReadOnlyOptions,
  type ReadOnlyStore,
} from '../store/read-only/read-only-store.js';
export type {
  StoreVerifyOptions,
  Verification,
  VerifyProgress,
  VerifyReport,
} from '../store/repair/verify.js';
export type { TableSnapshot } from '../store/snapshots.js';
export type { StoreStats } from '../store/stats.js';
export {
  type Additions,
  type Admin,
  ALL_VERSIONS,
  Append,
  type BatchAction,
  type BatchOptions,
  type BatchOutcome,
  type BloomFilter,
  type BulkCompression,
  type BulkLoadOptions,
  type BulkLoadResult,
  type Capabilities,
  Cell,
  type CellStream,
  CellType,
  CheckAndMutate,
  type CheckAndMutateResult,
  type CheckCondition,
  type Comparator,
  type CompareOperator,
  type Compression,
  type Consistency,
  comparators,
  type DataBlockEncoding,
  Delete,
  type Durability,
  type Engine,
  type FamilyDescriptor,
  type FamilyOptions,
  type Filter,
  type FilterKind,
  type FilterRange,
  FOREVER,
  familyDescriptor,
  filters,
  Get,
  Increment,
  type KeepDeletedCells,
  LATEST_TIMESTAMP,
  MAX_FAMILY_LENGTH,
  MAX_ROW_LENGTH,
  type Mutation,
  type MutationCell,
  type ObservedWrite,
  type OperationOptions,
  Put,
  parseFilter,
  type Query,
  type RawRow,
  type RegionInfo,
  Result,
  type ResultScanner,
  type RowMutation,
  RowMutations,
  Scan,
  type SplitAlgorithm,
  type SyncResultScanner,
  type SyncTable,
  type SyncTableTransaction,
  splitKeys,
  type Table,
  type TableChange,
  type TableChanges,
  type TableDescriptor,
  type TableOptions,
  type TableTransaction,
  TimeRange,
  type TransactionOptions,
  tableDescriptor,
  type WriteObserver,
} from '../table/index.js';
export type { Metric } from '../table/telemetry.js';
