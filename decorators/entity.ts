import { describe } from '../src/table/checks.js';
import type { EntityDeclaration } from './declaration.js';
import { classDecorator } from './modes.js';
import type { EntityDecorator } from './row-key.js';

/**
 * Says that the instances of a class are stored as rows of a table.
 *
 * @example
 * ```ts
 * @Entity({ table: Crm, recordType: 1 })
 * @RowKey(salt(16), part('customerId'), recordType())
 * class Customer {
 *   declare static readonly key: ['customerId'];
 *   customerId!: string;
 *   @Column('d:n', text) name!: string;
 * }
 * ```
 */
export function Entity(entity: EntityDeclaration): EntityDecorator {
  return classDecorator('Entity', (declaration) => {
    if (typeof entity === 'object' && entity !== null) declaration.entities.push(entity);
    else declaration.problems.push(`@Entity takes { table }, not ${describe(entity)}.`);
  });
}
