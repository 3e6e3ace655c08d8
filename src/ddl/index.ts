export { javaSource, typescriptSource } from './admin-code.js';
export {
  type Applicable,
  type AppliedPlan,
  type ApplyOptions,
  applySchema,
  type FeatureSteps,
  schemaHistory,
} from './apply/apply.js';
export { ControlTable, controlTableDescriptor, type Kept, rekeyRow } from './apply/control-table.js';
export type { PlanRecord, ReadPlanRecord, RecordedStep } from './apply/history.js';
export * from './create-table.js';
export * from './ensure-tables.js';
export { dropTable, ensureTable } from './ensure-tables.js';
export { INDEX_DDL } from './feature-ddl.js';
export { introspectForeign } from './introspect/foreign.js';
export { type IntrospectedTable, introspect } from './introspect/introspect.js';
export type {
  DeployedMigrations,
  DeployOptions,
  MigrationState,
  MigrationStatus,
  UndoneMigration,
  UndoOptions,
} from './migrate/deploy.js';
export { type Migration, readMigrations } from './migrate/migration-files.js';
export {
  checkSnapshot,
  readSchemaState,
  readSnapshot,
  type SnapshotPlan,
  snapshotOf,
  writeSnapshot,
} from './plan/check-snapshot.js';
export { planSchema, type SubjectState, subjectStates } from './plan/plan.js';
export { allowanceOf, describePlan, describeSteps, planScript } from './plan/shell-script.js';
export { describeSnapshotDifferences, type SnapshotDifference } from './plan/snapshot-entities.js';
export {
  type Admission,
  type Allowance,
  admit,
  type Contradiction,
  type PlanOptions,
  type SchemaPlan,
  type SchemaState,
  type SchemaStep,
  type StepClass,
  type StepKind,
  type TableState,
  type UnmanagedSetting,
} from './plan/types.js';
export { placeOf, type RecordStamp, readStamp, type StampedColumn, stampTexts } from './stamp-format.js';
export * from './table-stamp.js';
export { adoptMarkers } from './table-stamp.js';
