export * from './avro-class.js';
export * from './compile.js';
export type * from './entity-types.js';
export * from './lifecycle.js';
export {
  describeFinding,
  LINT_CODES,
  type LintOptions,
  type LintSuppression,
  lintTables,
} from './lint/lint.js';
export type { LintFinding, LintSeverity } from './lint/types.js';
export * from './problems.js';
export * from './types.js';
