/** What decorators write down. Plain data; `src/schema` checks and compiles it. */

import type { KeyElement } from '../src/key/index.js';
import type { ValueCodec } from '../src/schema/types.js';
import type { FamilyOptions, TableOptions } from '../src/table/index.js';
import type { AnyClass } from './metadata.js';

/** A column as "family:qualifier", or with a qualifier of any bytes. */
export type ColumnName = string | { readonly family: string; readonly qualifier: Uint8Array };

/** What `@Table` and `defineTable` take. */
export interface TableDeclaration extends TableOptions {
  /** "namespace:name", or "name" in the default namespace. */
  readonly name: string;
  /** Families and their options; each option left out has HBase's default. */
  readonly families: Readonly<Record<string, FamilyOptions>>;
  /** How many regions a new table begins with; the split points follow from the key layouts. Default 1. */
  readonly presplit?: { readonly regions: number } | { readonly splits: readonly (Uint8Array | string)[] };
}

/** A table: a class with `@Table`, or what `defineTable` answered. */
export type TableReference = AnyClass | TableDeclaration;

export interface EntityDeclaration {
  readonly table: TableReference;
  /** 0..255, the entity's number in its table. Needed where several entities share a table; never change it. */
  readonly recordType?: number;
  /** What errors, explain and tools call the entity. Default: the class's name. */
  readonly name?: string;
  /**
   * Whether every put also writes a marker cell `family:_`, which says that the row exists even when all of its columns
   * are absent. Default true: in the family of the column declared first. A family's name pins it there; false is for
   * tables that others write.
   */
  readonly marker?: boolean | string;
}

/** One property's storage. */
export interface ColumnDeclaration {
  readonly kind: 'column';
  readonly decorator: string;
  readonly property: string;
  readonly column: ColumnName;
  /** Undefined: taken from the type that the compiler emitted. */
  readonly codec: ValueCodec<unknown> | undefined;
}

export type PropertyDeclaration = ColumnDeclaration;

/** Everything declared on one class, without what it inherits. */
export interface ClassDeclaration {
  readonly tables: TableDeclaration[];
  readonly entities: EntityDeclaration[];
  readonly rowKeys: (readonly KeyElement[])[];
  readonly properties: PropertyDeclaration[];
  /** Mistakes that a decorator saw at once; reported with all others when the schema is compiled. */
  readonly problems: string[];
}

export function emptyDeclaration(): ClassDeclaration {
  return { tables: [], entities: [], rowKeys: [], properties: [], problems: [] };
}
