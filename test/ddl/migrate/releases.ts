/** The releases of one program, each with other declarations of the same table. */

import { defineEntity, defineTable, part } from '../../../decorators/index.js';
import { int32, text } from '../../../src/codec/index.js';
import { Database } from '../../../src/database.js';
import { compileSchema } from '../../../src/mapper/index.js';
import type { Schema } from '../../../src/schema/index.js';
import type { Engine } from '../../../src/table/index.js';

export interface Release {
  readonly versions?: number;
  readonly note?: boolean;
  /** Whether the table has the family `x`. */
  readonly extra?: boolean;
  readonly byStatus?: boolean;
  readonly byKind?: boolean;
  /** The codec of `kind`, whose change nothing can bring about. */
  readonly kind?: 'text' | 'int32';
}

export function schemaOf(table: string, release: Release): Schema {
  const {
    versions = 1,
    note = false,
    extra = false,
    byStatus = false,
    byKind = false,
    kind = 'text',
  } = release;
  const Order = defineEntity({
    name: 'Order',
    table: defineTable({ name: table, families: { d: { versions }, ...(extra && { x: {} }) } }),
    key: [part('id', text)],
    columns: (c) => ({
      status: c.column('d:s', text),
      kind: (kind === 'text' ? c.column('d:k', text) : c.column('d:k', int32)).optional(),
      ...(note && { note: c.column('d:n', text).optional() }),
    }),
    indexes: {
      ...(byStatus && { byStatus: { on: [part('status')] } }),
      ...(byKind && { byKind: { on: [part('kind')] } }),
    },
  });
  return compileSchema([Order]);
}

export const toolsOf = (engine: Engine, table: string, release: Release) =>
  new Database(schemaOf(table, release), engine, 'ignore').schema;
