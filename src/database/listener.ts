/** Who is told of what a database itself does, if anybody. */

import type { EnsuredTables } from '../ddl/index.js';
import type { LintFinding } from '../schema/index.js';
import type { LintEvent, OutboxEvent, TablesEvent } from './options.js';

export class Listener {
  constructor(private readonly onEvent?: (event: TablesEvent | LintEvent | OutboxEvent) => void) {}

  /** What was made of tables, and what lint says of their declarations. */
  opened(tables: EnsuredTables, all: readonly LintFinding[]): void {
    const news = tables.created.length + tables.stamped.length + tables.differences.length;
    if (news > 0) this.tell({ kind: 'tables', ...tables });
    const findings = all.filter(({ severity }) => severity === 'warning');
    if (findings.length > 0) this.tell({ kind: 'lint', findings });
  }

  tell(event: TablesEvent | LintEvent | OutboxEvent): void {
    try {
      this.onEvent?.(event);
    } catch {
      // What a listener throws is dropped, as in the store.
    }
  }
}
