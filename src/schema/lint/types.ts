/** The types of lint's findings. */

import type { TableSchema } from '../types.js';

/** `warning`: costly in nearly every program. `hint`: may be intended. Neither is refused. */
export type LintSeverity = 'warning' | 'hint';

export interface LintFinding {
  /** Stable; docs/lint.md has a section of this name. */
  readonly code: string;
  readonly severity: LintSeverity;
  readonly table: string;
  /** Where in the declaration: `shop:crm`, `shop:crm/d`, `Order.note`, `Order key`. */
  readonly place: string;
  /** The problem, as a sentence. */
  readonly message: string;
  /** The remedy, as a sentence. */
  readonly advice: string;
}

/** The result of a rule. Its code and severity are added. */
export type Smell = Pick<LintFinding, 'place' | 'message' | 'advice'>;

export interface LintRule {
  readonly code: string;
  readonly severity: LintSeverity;
  readonly check: (table: TableSchema) => readonly Smell[];
}
