/** The two projects of `bench:types`: the same entities and the same queries, of Rowan and of Drizzle. */

/** Of a column: Rowan's codec and property, Drizzle's column. */
const COLUMNS = [
  { codec: 'text', type: 'string', drizzle: (name: string) => `text('${name}')` },
  { codec: 'float64', type: 'number', drizzle: (name: string) => `real('${name}')` },
  { codec: 'int32', type: 'number', drizzle: (name: string) => `integer('${name}')` },
  { codec: 'boolean', type: 'boolean', drizzle: (name: string) => `integer('${name}', { mode: 'boolean' })` },
  { codec: 'date', type: 'Date', drizzle: (name: string) => `integer('${name}', { mode: 'timestamp_ms' })` },
] as const;

/** Every entity has a key of two parts beside them. Every second column may be null. */
const COLUMNS_OF_EACH = 10;
const ENTITIES = 100;

/** The names of an entity's columns; no two entities share one. */
function columnsOf(entity: number): { name: string; optional: boolean; kind: (typeof COLUMNS)[number] }[] {
  return Array.from({ length: COLUMNS_OF_EACH }, (_, i) => ({
    name: `c${i}_${entity}`,
    optional: i % 2 === 1,
    kind: COLUMNS[i % COLUMNS.length]!,
  }));
}

function each(lines: (entity: number) => readonly string[]): string[] {
  return Array.from({ length: ENTITIES }, (_, entity) => lines(entity)).flat();
}

/** A use of a row, which holds its properties to their types. */
function use(query: string, row: string, name: string, type: string): string {
  return `export const ${query}: ${type} | null | undefined = ${row}.${name};`;
}

export function rowanProject(form: 'classes' | 'defineEntity'): string {
  const declaration = form === 'classes' ? classOf : definitionOf;
  return `${[
    "import { boolean, Column, type Database, date, defineEntity, defineTable, Entity, float64, int32, part, RowKey, text, uint32 } from 'rowan-orm';",
    'declare const db: Database;',
    ...each((i) => [
      `const table${i} = defineTable({ name: 't${i}', families: { d: {} } });`,
      ...declaration(i),
      `const r${i} = db.repository(Entity${i});`,
      `const get${i} = await r${i}.get({ tenant${i}: 'a', seq${i}: 1 });`,
      use(`a${i}`, `get${i}?`, `c0_${i}`, 'string'),
      `const range${i} = await r${i}.find({ tenant${i}: 'a', seq${i}: { gte: 1, lt: 9 } }).all();`,
      use(`b${i}`, `range${i}[0]!`, `c1_${i}`, 'number'),
      `const part${i} = await r${i}.find({ tenant${i}: 'a' }).select('c2_${i}', 'c4_${i}').all();`,
      use(`c${i}`, `part${i}[0]!`, `c4_${i}`, 'Date'),
      `const where${i} = await r${i}.find({ tenant${i}: 'a' }).where({ c2_${i}: { gt: 5 } }).limit(10).all();`,
      use(`d${i}`, `where${i}[0]!`, `c3_${i}`, 'boolean'),
      `export const e${i}: number = await r${i}.find({ tenant${i}: 'a' }).where({ c0_${i}: 'x' }).count();`,
    ]),
  ].join('\n')}\n`;
}

function classOf(i: number): string[] {
  return [
    `@Entity({ table: table${i} })`,
    `@RowKey(part('tenant${i}'), part('seq${i}', uint32))`,
    `class Entity${i} {`,
    `  declare static readonly key: ['tenant${i}', 'seq${i}'];`,
    `  tenant${i}!: string;`,
    `  seq${i}!: number;`,
    ...columnsOf(i).map(
      ({ name, optional, kind }, c) =>
        `  @Column('d:${c}', ${kind.codec}) ${name}${optional ? '?' : '!'}: ${kind.type};`,
    ),
    '}',
  ];
}

function definitionOf(i: number): string[] {
  return [
    `const Entity${i} = defineEntity({`,
    `  name: 'Entity${i}', table: table${i}, key: [part('tenant${i}'), part('seq${i}', uint32)],`,
    '  columns: (c) => ({',
    ...columnsOf(i).map(
      ({ name, optional, kind }, c) =>
        `    ${name}: c.column('d:${c}', ${kind.codec})${optional ? '.optional()' : ''},`,
    ),
    '  }),',
    '});',
  ];
}

export function drizzleProject(): string {
  return `${[
    "import { and, asc, count, eq, gt, gte, lt } from 'drizzle-orm';",
    "import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';",
    "import { integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';",
    'declare const db: BetterSQLite3Database;',
    ...each((i) => {
      const rows = `db.select().from(t${i})`;
      const ofTenant = `eq(t${i}.tenant${i}, 'a')`;
      return [
        `const t${i} = sqliteTable('t${i}', {`,
        `  tenant${i}: text('tenant').notNull(),`,
        `  seq${i}: integer('seq').notNull(),`,
        ...columnsOf(i).map(
          ({ name, optional, kind }) => `  ${name}: ${kind.drizzle(name)}${optional ? '' : '.notNull()'},`,
        ),
        `}, (t) => [primaryKey({ columns: [t.tenant${i}, t.seq${i}] })]);`,
        `const get${i} = ${rows}.where(and(${ofTenant}, eq(t${i}.seq${i}, 1))).get();`,
        use(`a${i}`, `get${i}?`, `c0_${i}`, 'string'),
        `const range${i} = ${rows}.where(and(${ofTenant}, gte(t${i}.seq${i}, 1), lt(t${i}.seq${i}, 9))).orderBy(asc(t${i}.seq${i})).all();`,
        use(`b${i}`, `range${i}[0]!`, `c1_${i}`, 'number'),
        `const part${i} = db.select({ c2_${i}: t${i}.c2_${i}, c4_${i}: t${i}.c4_${i} }).from(t${i}).where(${ofTenant}).all();`,
        use(`c${i}`, `part${i}[0]!`, `c4_${i}`, 'Date'),
        `const where${i} = ${rows}.where(and(${ofTenant}, gt(t${i}.c2_${i}, 5))).limit(10).all();`,
        use(`d${i}`, `where${i}[0]!`, `c3_${i}`, 'boolean'),
        `const count${i} = db.select({ rows: count() }).from(t${i}).where(and(${ofTenant}, eq(t${i}.c0_${i}, 'x'))).get();`,
        `export const e${i}: number = count${i}!.rows;`,
      ];
    }),
  ].join('\n')}\n`;
}
