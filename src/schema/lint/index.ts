export { describeFinding, LINT_CODES, type LintOptions, type LintSuppression, lintTables } from './lint.js';
export type { LintFinding, LintSeverity } from './types.js';
