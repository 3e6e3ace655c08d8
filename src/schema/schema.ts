import { SchemaError } from '../errors.js';
import { describe } from '../table/checks.js';
import type { EntitySubscriber } from './subscribers.js';
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
    /** What is told of writes and reads beside the hooks of the entities, which have it in their lifecycles. */
    readonly subscribers: readonly EntitySubscriber[] = [],
  ) {
    this.byClass = new Map(entities.map((entity) => [entity.target, entity]));
    Object.freeze(this);
  }

  /** @throws SchemaError when the class is not one of the schema's entities. */
  entity<E extends object>(target: EntityClass<E>): EntitySchema<E> {
    const found = this.byClass.get(target);
    if (found !== undefined) return found as unknown as EntitySchema<E>;
    const gone = this.retired.find((entity) => entity.target === target);
    if (gone !== undefined) {
      throw new SchemaError(
        `${gone.name} is retired: its rows are neither read nor written, and rowan schema apply removes them. Leave out { retired: true } to use it.`,
      );
    }
    throw new SchemaError(
      `${typeof target === 'function' ? `The class ${target.name}` : describe(target)} is no entity of this schema. Pass it where the schema is compiled. Known: ${this.entities.map(({ name }) => name).join(', ')}.`,
    );
  }

  /** The entities whose classes are `base` or extend it: what a polymorphic read is over. */
  subtypes(base: EntityClass): EntitySchema[] {
    return this.entities.filter(({ target }) => target === base || target.prototype instanceof base);
  }

  /** The entity that a row of a table is of, told by the layouts and record types of keys; undefined when of none. */
  entityOfRow(tableName: string, row: Uint8Array): EntitySchema | undefined {
    const table = this.tables.find(({ descriptor }) => descriptor.name === tableName);
    return table?.entities.find(({ key }) => key.matches(row));
  }

  /** Entities whose rows are to be removed, in the order of their tables. */
  get retired(): readonly EntitySchema[] {
    return this.tables.flatMap((table) => table.retired);
  }

  has(target: EntityClass): boolean {
    return this.byClass.has(target);
  }
}
