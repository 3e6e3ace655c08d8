import type { Schema } from './compile.js';
import { type EntitySchema, isSingleCell } from './types.js';

/** Entities and their relations as an entity-relationship diagram, and its text in Mermaid. */

/** Options of a diagram. */
interface DiagramOptions {
  /** The entities to show, with those that they refer to. Default: all. */
  readonly entities?: readonly EntitySchema[];
  /** Whether columns are listed, too, and not only parts of keys. Default true. */
  readonly columns?: boolean;
}

/** An entity of a diagram. */
interface DiagramEntity {
  readonly name: string;
  readonly properties: readonly DiagramProperty[];
}

interface DiagramProperty {
  readonly name: string;
  readonly type: string;
  /** `PK`: part of the key; `UK`: part of a unique index. */
  readonly mark?: 'PK' | 'UK';
  /** Of `UK`: the other parts of the index, together with which it is unique. */
  readonly uniqueWith?: readonly string[];
  /** The family; undefined for parts of the key. */
  readonly family?: string;
}

/** A line from an entity to another one. */
interface DiagramLink {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  /** `one`: many of `from` refer to one of `to`; `many`: one to many; `copies`: many copy properties of one. */
  readonly kind: 'one' | 'many' | 'copies';
}

/** The content of a diagram, in any form. */
export interface Diagram {
  /** In the order of their names. */
  readonly entities: readonly DiagramEntity[];
  readonly links: readonly DiagramLink[];
}

export function diagramOf(schema: Schema, { entities, columns = true }: DiagramOptions = {}): Diagram {
  const shown = (entities === undefined ? schema.entities : withTargets(schema, entities)).toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  return {
    entities: shown.map((entity) => ({ name: entity.name, properties: propertiesOf(entity, columns) })),
    links: shown.flatMap((entity) => linksOf(schema, entity, shown)),
  };
}

const ARROWS: Readonly<Record<DiagramLink['kind'], string>> = {
  one: '}o--o|',
  many: '|o--o{',
  copies: '}o..o|',
};

/** The diagram in Mermaid: one line an entity's property, one a relation. */
export function entityDiagram(schema: Schema, options: DiagramOptions = {}): string {
  const { entities, links } = diagramOf(schema, options);
  const lines = ['erDiagram'];
  for (const { name, properties } of entities) {
    lines.push(`  ${word(name)} {`);
    for (const { name: property, type, mark, family, uniqueWith } of properties) {
      const shared = uniqueWith === undefined ? '' : `, unique with ${uniqueWith.join(', ')}`;
      const note = family === undefined ? '' : ` "${family}${shared}"`;
      lines.push(`    ${typeWord(type)} ${word(property)}${mark === undefined ? '' : ` ${mark}`}${note}`);
    }
    lines.push('  }');
  }
  for (const { from, to, label, kind } of links)
    lines.push(`  ${word(from)} ${ARROWS[kind]} ${word(to)} : "${label}"`);
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

function propertiesOf({ key, columns, indexes }: EntitySchema, listed: boolean): DiagramProperty[] {
  const unique = uniqueColumns(indexes);
  const properties: DiagramProperty[] = key.parts.map(({ name, codec }) => ({
    name,
    type: typeName(codec.name),
    mark: 'PK',
  }));
  if (!listed) return properties;
  const parts = new Set(key.parts.map(({ name }) => name));
  for (const column of columns) {
    const { property, codec, kind, family } = column;
    if (parts.has(property)) continue;
    properties.push({
      name: property,
      type: isSingleCell(column) ? typeName(codec.name) : `${kind} ${typeName(codec.name)}`,
      family,
      ...unique.get(property),
    });
  }
  return properties;
}

type UniqueMark = Pick<DiagramProperty, 'uniqueWith'> & { readonly mark: 'UK' };

/** The marks of the parts of unique indexes. What is unique alone is so whatever other indexes have it. */
function uniqueColumns(indexes: EntitySchema['indexes']): Map<string, UniqueMark> {
  const marks = new Map<string, UniqueMark>();
  const unique = indexes.filter((index) => index.unique);
  for (const { parts } of unique.toSorted((a, b) => a.parts.length - b.parts.length)) {
    for (const part of parts) {
      const uniqueWith = parts.filter((other) => other !== part);
      if (!marks.has(part)) marks.set(part, { mark: 'UK', ...(uniqueWith.length > 0 && { uniqueWith }) });
    }
  }
  return marks;
}

/** The name of a codec without arguments that are texts or lists: `enumeration`, not `enumeration("open"=1,"shipped"=2)`. */
function typeName(codec: string): string {
  return codec.replace(/"(?:[^"\\]|\\.)*"/g, ',').replace(/\([^()]*[^\w()][^()]*\)/g, '');
}

/** A relation to one is drawn where it is declared, and one to many only if the other entity has none back. */
function linksOf(schema: Schema, entity: EntitySchema, shown: readonly EntitySchema[]): DiagramLink[] {
  const links: DiagramLink[] = [];
  const from = entity.name;
  for (const { kind, property, target } of entity.relations.values()) {
    const other = schema.entity(target());
    if (!shown.includes(other)) continue;
    const backs = [...other.relations.values()];
    if (kind === 'one' || backs.every((back) => schema.entity(back.target()) !== entity))
      links.push({ from, to: other.name, label: property, kind: kind === 'one' ? 'one' : 'many' });
  }
  for (const { fields, target } of entity.copies) {
    const source = schema.entity(target());
    const label = `copies ${fields.map(({ column }) => column.property).join(', ')}`;
    if (shown.includes(source)) links.push({ from, to: source.name, label, kind: 'copies' });
  }
  return links;
}

/** A name as Mermaid takes it: letters, digits, `_` and `-`. */
const word = (name: string): string => mermaid(name, /[^\p{L}\p{N}_-]+/gu);

/** A type may have parentheses, too. */
const typeWord = (name: string): string => mermaid(name, /[^\p{L}\p{N}_()-]+/gu);

const mermaid = (name: string, others: RegExp): string =>
  name.replace(others, '_').replace(/^(?=\p{N})/u, '_');
