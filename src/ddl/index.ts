export { javaSource, typescriptSource } from './admin-code.js';
export { adoptMarkers } from './adopt.js';
export {
  type Applicable,
  type AppliedPlan,
  type ApplyOptions,
  applySchema,
  schemaHistory,
} from './apply/apply.js';
export { ControlTable, controlTableDescriptor, type Kept, rekeyRow } from './apply/control-table.js';
export type { PlanRecord, ReadPlanRecord, RecordedStep } from './apply/history.js';
export { dropTable, ensureTable } from './concurrent-tables.js';
export * from './create-table.js';
export * from './ensure-tables.js';
export * from './index-states.js';
export { introspectForeign } from './introspect/foreign.js';
export { type IntrospectedTable, introspect } from './introspect/introspect.js';
export { type Admission, type Allowance, admit } from './plan/admission.js';
export { type SubjectState, subjectStates } from './plan/avro.js';
export { checkSnapshot, type SnapshotPlan, snapshotOf } from './plan/check-snapshot.js';
export { allowanceOf, describePlan } from './plan/describe.js';
export { readSchemaState } from './plan/live-state.js';
export { planSchema } from './plan/plan.js';
export { planScript } from './plan/shell-script.js';
export { readSnapshot, writeSnapshot } from './plan/snapshot.js';
export type {
  Contradiction,
  PlanOptions,
  SchemaPlan,
  SchemaState,
  SchemaStep,
  StepClass,
  StepKind,
  TableState,
  UnmanagedSetting,
} from './plan/types.js';
export * from './register-schemas.js';
export * from './ruby.js';
export { readStamp, stampTexts } from './stamp-format.js';
export * from './system-tables.js';
export * from './table-difference.js';
export * from './table-stamp.js';
