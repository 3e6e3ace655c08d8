/** Declared properties -> columns, with every rule that they can break. */

import { emittedType, type PropertyDeclaration } from '../../decorators/index.js';
import { compareBytes, startsWithBytes, toStringBinary } from '../bytes/index.js';
import { inferValueCodec } from '../codec/index.js';
import type { CollectedEntity } from './collect.js';
import { parseColumnName } from './column-name.js';
import type { Problems } from './problems.js';
import type { ColumnSchema, EmbeddedSchema, ValueCodec } from './types.js';

export interface CompiledColumns {
  /** In the order of family and qualifier. */
  readonly columns: readonly ColumnSchema[];
  readonly embedded: readonly EmbeddedSchema[];
}

export function compileColumns(entity: CollectedEntity, problems: Problems): CompiledColumns {
  const columns: ColumnSchema[] = [];
  for (const property of entity.properties) {
    const column = compileColumn(entity, property, columns.length, problems);
    if (column !== undefined) columns.push(column);
  }
  columns.sort(compareColumns);
  checkOverlaps(entity.name, columns, problems);
  return { columns: Object.freeze(columns), embedded: Object.freeze([]) };
}

function compileColumn(
  entity: CollectedEntity,
  property: PropertyDeclaration,
  order: number,
  problems: Problems,
): ColumnSchema | undefined {
  const parsed = parseColumnName(property.column);
  const codec = property.codec ?? inferCodec(entity, property, problems);
  if (typeof parsed === 'string') {
    problems.add(entity.name, property.property, parsed, 'Write "family:qualifier".');
    return undefined;
  }
  checkFamily(entity, property.property, parsed.family, problems);
  if (codec === undefined) return undefined;
  return Object.freeze({
    path: Object.freeze([property.property]),
    property: property.property,
    kind: 'column',
    family: parsed.family,
    qualifier: parsed.qualifier,
    codec,
    qualifierCodec: undefined,
    order,
  });
}

function checkFamily(entity: CollectedEntity, property: string, family: string, problems: Problems): void {
  const families = Object.keys(entity.table.families ?? {});
  if (families.includes(family)) return;
  problems.add(
    entity.name,
    property,
    `Table "${entity.table.name}" has no family "${family}".`,
    `Declare it in @Table({ families }), or use one of: ${families.join(', ')}.`,
  );
}

function inferCodec(
  entity: CollectedEntity,
  property: PropertyDeclaration,
  problems: Problems,
): ValueCodec<unknown> | undefined {
  const type = emittedType(entity.target, property.property);
  const codec = inferValueCodec(type);
  if (codec !== undefined) return codec;
  const column = typeof property.column === 'string' ? `'${property.column}'` : 'column';
  if (type === undefined) {
    problems.add(
      entity.name,
      property.property,
      'No codec is given, and the compiler emitted no type to take it from.',
      `Write it: @${property.decorator}(${column}, text), or int32, date, bytes, ...`,
    );
  } else {
    const typeName = typeof type === 'function' ? type.name : String(type);
    problems.add(
      entity.name,
      property.property,
      `No codec is given, and there is none for the emitted type ${typeName}.`,
      `Write a codec: @${property.decorator}(${column}, json()), or use @Json or @Embedded.`,
    );
  }
  return undefined;
}

/** Families in byte order, then qualifiers: the order of cells in a result. */
export function compareColumns(a: ColumnSchema, b: ColumnSchema): number {
  if (a.family !== b.family) return Buffer.compare(Buffer.from(a.family), Buffer.from(b.family));
  return compareBytes(a.qualifier, b.qualifier);
}

function checkOverlaps(entity: string, sorted: readonly ColumnSchema[], problems: Problems): void {
  for (const [index, column] of sorted.entries()) {
    for (const other of sorted.slice(index + 1)) {
      if (other.family !== column.family || !startsWithBytes(other.qualifier, column.qualifier)) break;
      const same = other.qualifier.length === column.qualifier.length;
      if (!same && column.kind !== 'columns') continue;
      const name = `"${column.family}:${toStringBinary(column.qualifier)}"`;
      problems.add(
        entity,
        other.property,
        same
          ? `The column ${name} is also that of "${column.property}".`
          : `The column lies within ${name}*, the columns of "${column.property}".`,
        'Give each property a column of its own.',
      );
    }
  }
}
