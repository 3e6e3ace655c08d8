import { classChain, ownDeclarations } from '../../decorators/index.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';
import { compileSchema } from './entity-mapper.js';

const compiled = new WeakMap<EntityClass, EntitySchema>();

/** The schema of one entity, for code that has no database. @throws SchemaError on wrong declarations. */
export function schemaOf(target: EntityClass): EntitySchema {
  const known = compiled.get(target);
  if (known !== undefined) return known;
  const schema = compileSchema(withSources(target)).entity(target);
  compiled.set(target, schema);
  return schema;
}

/** The class, and the other entities that its copies and references need to compile. */
function withSources(target: EntityClass): EntityClass[] {
  const found = new Set<EntityClass>();
  const open: EntityClass[] = [target];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (found.has(one) || typeof one !== 'function') continue;
    found.add(one);
    for (const { copies, relations } of classChain(one as never).flatMap(ownDeclarations)) {
      open.push(...copies.map(({ source }) => source()));
      open.push(...relations.filter(({ rule }) => rule !== undefined).map(({ target: other }) => other()));
    }
  }
  return [...found];
}
