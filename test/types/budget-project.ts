/** Generates a project of many entities, whose types are then counted. */

const KEY_PARTS = [
  { element: 'part', codec: '', type: 'string', value: "''" },
  { element: 'part', codec: ', date', type: 'Date', value: 'new Date(0)' },
  { element: 'part', codec: ', uint32', type: 'number', value: '1' },
  { element: 'part', codec: ', int64', type: 'bigint', value: '1n' },
  { element: 'reverseTimestamp', codec: '', type: 'Date', value: 'new Date(0)' },
  { element: 'part', codec: ', desc(string)', type: 'string', value: "''" },
];

const COLUMNS = [
  { codec: 'text', type: 'string', emitted: true },
  { codec: 'int32', type: 'number', emitted: false },
  { codec: 'int64', type: 'bigint', emitted: true },
  { codec: 'boolean', type: 'boolean', emitted: true },
  { codec: 'date', type: 'Date', emitted: true },
];

export interface BudgetProject {
  readonly entities: number;
  readonly columns: number;
  /** Leaves out the codecs that a compiler in TypeScript's own decorator mode emits the types of. */
  readonly inferCodecs: boolean;
  /** Whether all entities name their parts and columns alike, as those of one tenant do, or each otherwise. */
  readonly sharedNames: boolean;
}

/** A module of entities, each with six key parts, a repository, a whole key, a prefix with a range and a put. */
export function budgetProject(project: BudgetProject): string {
  const lines = [
    "import { Column, defineTable, Entity, part, recordType, reverseTimestamp, RowKey, salt } from 'rowan-orm';",
    "import { boolean, date, desc, int32, int64, string, text, uint32 } from 'rowan-orm';",
    "import type { CheckedPrefix, EntityOf, Input, KeyedClass, KeyOf, KeyQuery } from 'rowan-orm';",
    "const table = defineTable({ name: 't', families: { d: {} } });",
    'interface Repository<C extends KeyedClass> {',
    '  get(key: KeyOf<C>): EntityOf<C>;',
    '  find<Q extends KeyQuery<C>>(prefix: Q & CheckedPrefix<C, Q>): EntityOf<C>[];',
    '  put(entity: Input<C>): void;',
    '}',
    'declare function repository<C extends KeyedClass>(target: C): Repository<C>;',
  ];
  for (let i = 0; i < project.entities; i++) lines.push(...entityLines(i, project));
  return `${lines.join('\n')}\n`;
}

function entityLines(i: number, { columns, inferCodecs, sharedNames }: BudgetProject): string[] {
  const suffix = sharedNames ? '' : `_${i}`;
  const name = (p: number): string => `k${p}${suffix}`;
  const elements = KEY_PARTS.map(({ element, codec }, p) => `${element}('${name(p)}'${codec})`);
  const values = KEY_PARTS.map(({ value }, p) => `${name(p)}: ${value}`);
  const lines = [
    `@Entity({ table, recordType: ${i} })`,
    `@RowKey(salt(16, ['${name(0)}']), ${elements[0]}, recordType(), ${elements.slice(1).join(', ')})`,
    `class Entity${i} {`,
    `  declare static readonly key: [${KEY_PARTS.map((_, p) => `'${name(p)}'`).join(', ')}];`,
    ...KEY_PARTS.map(({ type }, p) => `  ${name(p)}!: ${type};`),
  ];
  for (let c = 0; c < columns; c++) {
    const { codec, type, emitted } = COLUMNS[c % COLUMNS.length]!;
    const written = inferCodecs && emitted ? '' : `, ${codec}`;
    lines.push(`  @Column('d:${c}'${written}) c${c}${suffix}${c % 2 === 0 ? '!' : '?'}: ${type};`);
  }
  return [
    ...lines,
    '}',
    `const repository${i} = repository(Entity${i});`,
    `repository${i}.get({ ${values.join(', ')} });`,
    `repository${i}.find({ ${values[0]}, ${name(1)}: { gte: new Date(0) } });`,
    `repository${i}.put(new Entity${i}());`,
  ];
}
