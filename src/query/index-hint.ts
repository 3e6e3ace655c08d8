/** Which index to declare for a query that nothing answers. */

import type { EntitySchema } from '../schema/types.js';
import { type Condition, conjuncts } from './condition.js';

/** The index that would answer the query, as it is to be written; undefined where no condition could be one's. */
export function indexToDeclare(schema: EntitySchema, where: readonly Condition[]): string | undefined {
  const equal = new Set<string>();
  const ranged = new Set<string>();
  for (const condition of where.flatMap(conjuncts)) {
    if (condition.kind !== 'test' || condition.negated || condition.inside !== undefined) continue;
    const column = schema.columnsByProperty.get(condition.property);
    if (column === undefined || condition.entry !== undefined) continue;
    if (column.kind !== 'column' && column.kind !== 'counter') continue;
    if (condition.operator === 'eq' || condition.operator === 'in') equal.add(condition.property);
    else if (['gt', 'gte', 'lt', 'lte', 'startsWith'].includes(condition.operator)) {
      ranged.add(condition.property);
    }
  }
  const names = [...equal, ...[...ranged].filter((name) => !equal.has(name)).slice(0, 1)];
  if (names.length === 0) return undefined;
  const parts = names.map((name) => {
    const codec = schema.columnsByProperty.get(name)!.codec.name;
    return codec === 'text' ? `part('${name}')` : `part('${name}', ${codec})`;
  });
  const title = names.map((name) => name.replace(/\W+(\w)/g, (_, head: string) => head.toUpperCase()));
  const words = title.map((name) => name.charAt(0).toUpperCase() + name.slice(1)).join('And');
  return `@Index('by${words}', [${parts.join(', ')}])`;
}
