import type { Schema } from './compile.js';
import type { EntitySchema } from './types.js';

/** Entities and their relations as an entity-relationship diagram, in the language of Mermaid. */

/** What a diagram shows. */
interface DiagramOptions {
  /** These entities, and those that they refer to. Default: all. */
  readonly entities?: readonly EntitySchema[];
  /** Whether columns are listed, too, and not only parts of keys. Default true. */
  readonly columns?: boolean;
}

/** One line an entity's property, one a relation; entities in the order of their names. */
export function entityDiagram(schema: Schema, { entities, columns = true }: DiagramOptions = {}): string {
  const shown = (entities === undefined ? schema.entities : withTargets(schema, entities)).toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  const lines = ['erDiagram'];
  for (const entity of shown) {
    lines.push(`  ${nameOf(entity)} {`, ...propertiesOf(entity, columns), '  }');
  }
  for (const entity of shown) lines.push(...relationsOf(schema, entity, shown));
  return `${lines.join('\n')}\n`;
}

function withTargets(schema: Schema, entities: readonly EntitySchema[]): EntitySchema[] {
  const shown = new Set(entities);
  for (const { relations, copies } of entities) {
    for (const { target } of relations.values()) shown.add(schema.entity(target()));
    for (const { target } of copies) shown.add(schema.entity(target()));
  }
  return [...shown];
}

function propertiesOf({ key, columns, indexes }: EntitySchema, listed: boolean): string[] {
  const unique = new Set(
    indexes.filter((index) => index.unique && index.parts.length === 1).flatMap(({ parts }) => parts),
  );
  const lines = key.parts.map(({ name, codec }) => `    ${word(codec.name)} ${word(name)} PK`);
  if (!listed) return lines;
  const parts = new Set(key.parts.map(({ name }) => name));
  for (const { property, codec, kind, family } of columns) {
    if (parts.has(property)) continue;
    const type = kind === 'column' || kind === 'counter' ? word(codec.name) : `${kind}_${word(codec.name)}`;
    lines.push(`    ${type} ${word(property)}${unique.has(property) ? ' UK' : ''} "${family}"`);
  }
  return lines;
}

/** A relation to one is drawn where it is declared, and one to many only if the other entity has none back. */
function relationsOf(schema: Schema, entity: EntitySchema, shown: readonly EntitySchema[]): string[] {
  const lines: string[] = [];
  for (const { kind, property, target } of entity.relations.values()) {
    const other = schema.entity(target());
    if (!shown.includes(other)) continue;
    if (kind === 'one') {
      lines.push(`  ${nameOf(entity)} }o--o| ${nameOf(other)} : "${property}"`);
    } else if ([...other.relations.values()].every((back) => schema.entity(back.target()) !== entity)) {
      lines.push(`  ${nameOf(entity)} |o--o{ ${nameOf(other)} : "${property}"`);
    }
  }
  for (const { fields, target } of entity.copies) {
    const source = schema.entity(target());
    if (shown.includes(source))
      lines.push(
        `  ${nameOf(entity)} }o..o| ${nameOf(source)} : "copies ${fields.map(({ column }) => column.property).join(', ')}"`,
      );
  }
  return lines;
}

const nameOf = ({ name }: EntitySchema): string => word(name);

/** A name as Mermaid takes it: letters, digits, `_` and `-`. */
const word = (name: string): string => name.replace(/[^\p{L}\p{N}_-]+/gu, '_').replace(/^(?=\p{N})/u, '_');
