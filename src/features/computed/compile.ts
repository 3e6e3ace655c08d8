/** Compiles `@Computed`: columns whose values follow from the others of their row. */

import type { CollectedEntity } from '../../schema/collect.js';
import type { FeatureCompiler, FeatureOwner, FeaturePart } from '../../schema/feature-part.js';
import type { Problems } from '../../schema/problems.js';
import type { ComputedSchema, EntitySchema } from '../../schema/types.js';
import { describe } from '../../table/checks.js';

/** The part of computed columns in schema compilation. */
export const computedCompiler: FeatureCompiler = { compile: compileComputed, check: checkComputed };

function compileComputed(source: CollectedEntity, owner: FeatureOwner, problems: Problems): FeaturePart {
  const found: ComputedSchema[] = [];
  for (const { property, compute } of source.computed) {
    const add = (rule: string, remedy: string): void => problems.add(source.name, property, rule, remedy);
    const column = owner.columns.find((one) => one.property === property);
    if (typeof compute !== 'function') {
      add(
        `It is computed by ${describe(compute)}.`,
        'Give a function: @Computed((order: Order) => order.lines.size).',
      );
    } else if (column?.kind !== 'column') {
      add(
        'It is computed, and no column of one value.',
        'Declare it with @Column. What is not stored is a getter of the class.',
      );
    } else if (owner.key.parts.some(({ name }) => name === property)) {
      add('It is computed, and a part of the key, which a row keeps.', 'Compute another column.');
    } else if (source.required.has(property) || column.required) {
      add(
        'It is computed and required, so programs would have to set it.',
        'Declare it optional, without @Required.',
      );
    } else if (isSetOtherwise(source, owner, property)) {
      add('It is computed, and Rowan sets it in another way too.', 'Leave one of the decorators.');
    } else found.push(Object.freeze({ column, compute }));
  }
  return { indexes: () => [], schema: () => ({ computed: Object.freeze(found) }) };
}

/** Whether it is a default, or the column of a version or a time. */
function isSetOtherwise(source: CollectedEntity, owner: FeatureOwner, property: string): boolean {
  return (
    property === owner.deletedProperty ||
    source.computed.filter((one) => one.property === property).length > 1 ||
    source.defaults.some((one) => one.property === property) ||
    source.properties.some(
      (one) => one.property === property && one.kind === 'column' && one.role !== undefined,
    )
  );
}

/** Refuses entities with columns that change without a write of the row by a program. */
function checkComputed(entities: readonly EntitySchema[], problems: Problems): void {
  for (const { name, computed, copies, mutual } of entities) {
    const [first] = computed;
    if (first === undefined) continue;
    const add = (rule: string, remedy: string): void =>
      problems.add(name, first.column.property, rule, remedy);
    if (copies.length > 0) {
      add(
        'It is computed, in an entity with copies (@Denormalized), which follow their sources and not its writes.',
        'Compute it in a getter of the class, or leave out the copies.',
      );
    }
    if (mutual !== undefined) {
      add(
        'It is computed, in a mutual entity, whose rows have equal columns on both sides.',
        'Compute it in a getter of the class.',
      );
    }
  }
}
