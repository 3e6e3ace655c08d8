/** What a rule of thumb says of a declaration. */

import type { TableSchema } from '../types.js';

/** `warning`: it costs in nearly every program; `hint`: it may be meant. Nothing is refused for either. */
export type LintSeverity = 'warning' | 'hint';

export interface LintFinding {
  /** Stable; docs/lint.md has a section of this name. */
  readonly code: string;
  readonly severity: LintSeverity;
  readonly table: string;
  /** Where in the declaration: `shop:crm`, `shop:crm/d`, `Order.note`, `Order key`. */
  readonly place: string;
  /** What was found: a sentence. */
  readonly message: string;
  /** What to write: a sentence. */
  readonly advice: string;
}

/** What a rule answers; code and severity are the rule's. */
export type Smell = Pick<LintFinding, 'place' | 'message' | 'advice'>;

export interface LintRule {
  readonly code: string;
  readonly severity: LintSeverity;
  readonly check: (table: TableSchema) => readonly Smell[];
}
