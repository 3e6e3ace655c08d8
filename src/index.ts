/**
 * `rowan-orm`: what every user needs. Beside it: `rowan-orm/codecs` (profiles, Avro by hand, codecs of one's own),
 * `rowan-orm/table` (the data model and the engines, without entities), `rowan-orm/jobs` (work over whole tables), `rowan-orm/hbase` (what only HBase has) and
 * `rowan-orm/testing`. Nothing else is public; docs/api lists all of it.
 */

export type { AnyClass } from '../decorators/any-class.js';
export type { AvroClassOptions, AvroFieldOptions, ListOf } from '../decorators/avro.js';
export { Avro, AvroField, AvroRecord } from '../decorators/avro.js';
export { Column } from '../decorators/column.js';
export type {
  ColumnBuilder,
  FamilyOf,
  Flat,
  ObjectOf,
  PropertyDefinition,
  PropertyDefinitions,
} from '../decorators/column-builder.js';
export { Columns, type ColumnsOptions } from '../decorators/columns.js';
export { Counter } from '../decorators/counter.js';
export type {
  ColumnName,
  ColumnOptions,
  EntityDeclaration,
  EntryOptions,
  EventualIndexOptions,
  FormerColumn,
  FormerPlace,
  HookMoment,
  IndexOptions,
  StrongIndexOptions,
  TableDeclaration,
  TableReference,
  Validator,
  ValidatorIssue,
  ValidatorResult,
} from '../decorators/declaration.js';
export { Default } from '../decorators/default.js';
export type {
  DefinedEntity,
  DefinedObject,
  EntityDefinition,
  IndexDefinition,
  IndexDefinitions,
  IndexParts,
} from '../decorators/define-entity.js';
export { defineEntity } from '../decorators/define-entity.js';
export { Denormalized, type DenormalizedOptions } from '../decorators/denormalized.js';
export { Embedded, type EmbedOptions } from '../decorators/embedded.js';
export { Entity } from '../decorators/entity.js';
export { formerly } from '../decorators/formerly.js';
export {
  AfterDelete,
  AfterLoad,
  AfterPut,
  AfterUpdate,
  BeforeDelete,
  BeforePut,
  BeforeUpdate,
} from '../decorators/hooks.js';
export {
  Index,
  type IndexDecorator,
  type IndexedClass,
  type IndexedValue,
} from '../decorators/indexes.js';
export { type ClassOf, Json } from '../decorators/json.js';
export type {
  AnyClassDecorator,
  AnyMethodDecorator,
  AnyPropertyDecorator,
  PropertyDecoratorFrom,
  PropertyDecoratorOf,
} from '../decorators/modes.js';
export { Packed, type PackedOptions } from '../decorators/packed.js';
export {
  type OnDelete,
  Reference,
  type ReferenceOptions,
  References,
  type ReferencesOptions,
} from '../decorators/reference.js';
export { Required } from '../decorators/required.js';
export { CreatedAt, DeletedAt, UpdatedAt, Version } from '../decorators/roles.js';
export {
  type CheckedClass,
  type KeyRow,
  type KeyTuple,
  type KeyTypes,
  type RandomlySalted,
  RowKey,
  type RowKeyClass,
  type RowKeyDecorator,
  type RowKeyMistake,
  rowKey,
  type SaltedAtRandom,
} from '../decorators/row-key.js';
export {
  type FigureDefinition,
  Summary,
  type SummaryDefinition,
} from '../decorators/summary.js';
export { type DefinedTable, defineTable, Table } from '../decorators/table.js';
export { Ttl } from '../decorators/ttl.js';
export {
  Upgrade,
  type UpgradeDefinition,
  type Upgraded,
  type UpgradeOptions,
  upgrade,
} from '../decorators/upgrade.js';
export { Validate, type ValidateDecorator } from '../decorators/validate.js';
export { type Versioned, Versions } from '../decorators/versions.js';
export {
  type AvroFields,
  type AvroRecordOf,
  type AvroSchema,
  type AvroSchemaObject,
  type AvroType,
  type AvroValue,
  avro,
  avroCodec,
  bigint,
  boolean,
  bytes,
  type CompatibilityLevel,
  counter,
  date,
  decimal,
  enumeration,
  fixedBytes,
  fixedString,
  float,
  float32,
  float64,
  int8,
  int16,
  int32,
  int53,
  int64,
  type JsonValue,
  json,
  text,
  textNumber,
  uint8,
  uint16,
  uint32,
  uint64,
  ulid,
  uuid,
  type ValueCodec,
} from './codec/index.js';
export { type AdminConnection, connectAdmin, openAdmin } from './database/admin-connection.js';
export type { DatabaseBatch } from './database/batch.js';
export type { CopiesRepairOptions, CopiesReport, CopyHandle } from './database/copy-handle.js';
export type { ExplainedCopies, ExplainedReference, ExplainedWrite } from './database/explain-write.js';
export type { LiveSchema, SchemaTools } from './database/live-schema.js';
export type {
  ConnectAdminOptions,
  ConnectOptions,
  LintEvent,
  OpenAdminOptions,
  OpenOptions,
  OutboxEvent,
  TableHandling,
  TablesEvent,
} from './database/options.js';
export type { DrainOptions } from './database/outbox.js';
export type { ReferenceHandle } from './database/referencing.js';
export type { Rekey, RekeyPlan } from './database/rekey.js';
export type { RekeyRecord, RekeyState } from './database/rekey-record.js';
export type { CleanupOptions, CutOverOptions } from './database/rekey-way.js';
export type {
  SummaryFindOptions,
  SummaryHandle,
  SummaryReport,
  SummaryState,
} from './database/summary-handle.js';
export type { ChangeCommit, ChangeFeed, RowChange, WatchOptions } from './database/watch/change-feed.js';
export { connect, Database, open, type Transaction } from './database.js';
export {
  type Allowance,
  type AppliedPlan,
  type ApplyOptions,
  type Contradiction,
  createScript,
  createTableStatement,
  describePlan,
  type EnsuredTables,
  type PlanOptions,
  type PlanRecord,
  planScript,
  type ReadPlanRecord,
  type RecordedStep,
  type SchemaPlan,
  type SchemaStep,
  type SnapshotPlan,
  type StepClass,
  type StepKind,
  schemaScript,
  type UnmanagedSetting,
} from './ddl/index.js';
export {
  ClosedError,
  ConflictError,
  CorruptionError,
  type ErrorCode,
  type ErrorDetails,
  InvalidArgumentError,
  KeyError,
  QueryError,
  RowanError,
  type RowanErrorOptions,
  SchemaError,
  SerializationError,
  TimeoutError,
  UnsupportedError,
} from './errors.js';
export type { RekeyDifferences } from './job/rekey/compare.js';
export {
  type BucketElement,
  bucket,
  type DerivedElement,
  desc,
  type ElementNames,
  type ElementTypes,
  type HashAlgorithm,
  type HashElement,
  type HashOptions,
  type HotspotReport,
  hash,
  hotspots,
  type KeyCodec,
  type KeyDictionary,
  type KeyElement,
  type KeyValue,
  type LiteralElement,
  literal,
  type PartElement,
  type PartTransform,
  part,
  type RecordTypeElement,
  type RegionLoad,
  recordType,
  reverse,
  reverseDigits,
  reverseDomain,
  reverseTimestamp,
  type SaltElement,
  type SaltOptions,
  type ScalarCodec,
  type SplitOptions,
  salt,
  substitute,
  type TimeBucketElement,
  timeBucket,
} from './key/index.js';
export { compileSchema } from './mapper/index.js';
export {
  CollectionQuery,
  type ColumnOperators,
  EntityQuery,
  type ExplainedIndex,
  type ExplainRange,
  type ExplainWarning,
  type ExplainWarningCode,
  type Explanation,
  type FindOptions,
  type Groups,
  type Page,
  type PageOptions,
  type Predicate,
  type QueryEvent,
  type QueryExplanation,
  type QueryListener,
  type QueryOperation,
  queryLogger,
  type TablesPage,
  type TablesQuery,
  type Where,
  type WhereBuilder,
} from './query/index.js';
export {
  type Amounts,
  type AppendablesOf,
  type BatchBuilder,
  type BulkWriteOptions,
  type CheckedItem,
  type CheckOutcome,
  type ConditionalWrite,
  type CountersOf,
  type CounterValues,
  type EntityReader,
  type HistoryEntry,
  type HistoryOf,
  type HistoryOptions,
  type IndexFinder,
  type ItemOutcome,
  type PlainOf,
  Repository,
  type RepositoryBatchOptions,
  type RowBuilder,
  type ScatteredBatch,
  type ScatteredReader,
  type ScatteredRepository,
  type Suffixes,
  type TablesReader,
  type WriteOptions,
} from './repository/index.js';
export type {
  ColumnKind,
  ColumnSchema,
  ColumnsOf,
  EntityClass,
  EntityOf,
  EntitySchema,
  EntitySubscriber,
  IndexName,
  IndexOf,
  IndexTarget,
  Input,
  Joined,
  KeyedClass,
  KeyOf,
  KeyPrefix,
  KeyQuery,
  LintFinding,
  LintOptions,
  LintSeverity,
  LintSuppression,
  PartQuery,
  PartTest,
  Patch,
  PropertiesOf,
  ScatteredClass,
  Schema,
  Selected,
  TableSchema,
} from './schema/index.js';
export { newUlid, newUuid } from './schema/index.js';
export type { SummaryGroup, SummaryName, SummaryResult } from './schema/summary-types.js';
export type { EmbeddedEngine } from './store/engine.js';
export type { EmbeddedOptions } from './store/options.js';
export type {
  Compression,
  Durability,
  FamilyOptions,
  SyncTable,
  TableOptions,
  TransactionOptions,
} from './table/index.js';
