import { SchemaError } from '../errors.js';
import type { EntityClass, EntitySchema, TableSchema } from './types.js';

/** A compiled schema: its entities and tables, all frozen. */
export class Schema {
  private readonly byClass: ReadonlyMap<EntityClass, EntitySchema>;

  constructor(
    /** In the order they were given. */
    readonly entities: readonly EntitySchema[],
    /** In the order of their names. */
    readonly tables: readonly TableSchema[],
    /** What breaks no rule but is likely to cost: each a sentence. */
    readonly warnings: readonly string[],
  ) {
    this.byClass = new Map(entities.map((entity) => [entity.target, entity]));
    Object.freeze(this);
  }

  /** @throws SchemaError when the class is not one of the schema's entities. */
  entity<E extends object>(target: EntityClass<E>): EntitySchema<E> {
    const found = this.byClass.get(target);
    if (found !== undefined) return found as unknown as EntitySchema<E>;
    throw new SchemaError(
      `The class ${target.name} is no entity of this schema. Pass it where the schema is compiled. Known: ${this.entities.map(({ name }) => name).join(', ')}.`,
    );
  }

  has(target: EntityClass): boolean {
    return this.byClass.has(target);
  }
}
