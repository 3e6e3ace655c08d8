/** Generates a project of many entities, whose types are then counted. */

const KEY_PARTS = [
  { element: 'part', codec: '', type: 'string', value: "''" },
  { element: 'part', codec: ', date', type: 'Date', value: 'new Date(0)' },
  { element: 'part', codec: ', uint32', type: 'number', value: '1' },
  { element: 'part', codec: ', int64', type: 'bigint', value: '1n' },
  { element: 'reverseTimestamp', codec: '', type: 'Date', value: 'new Date(0)' },
  { element: 'part', codec: ', desc(text)', type: 'string', value: "''" },
];

const COLUMNS = [
  { codec: 'text', type: 'string', value: "''", emitted: true },
  { codec: 'int32', type: 'number', value: '1', emitted: false },
  { codec: 'int64', type: 'bigint', value: '1n', emitted: true },
  { codec: 'boolean', type: 'boolean', value: 'true', emitted: true },
  { codec: 'date', type: 'Date', value: 'new Date(0)', emitted: true },
];

/** What is done with each entity beyond declaring it; each adds to the ones before. */
export const USES = ['declared', 'getAndPut', 'find', 'select', 'objects'] as const;

export interface BudgetProject {
  readonly form: 'classes' | 'defineEntity';
  /** Leaves out the codecs that a compiler in TypeScript's own decorator mode emits the types of. */
  readonly inferCodecs: boolean;
  /** Whether all entities name their parts and columns alike, as those of one tenant do, or each otherwise. */
  readonly sharedNames: boolean;
  readonly use: (typeof USES)[number];
  /**
   * Of classes: `none` leaves out `@RowKey` and the list of its parts, `index` adds an index of the same parts, declared, and
   * `asked` a query by it.
   */
  readonly keys?: 'none' | 'index' | 'asked';
}

const ENTITIES = 100;
const COLUMNS_OF_EACH = 20;

/** A module of 100 entities of six key parts and 20 columns, and what an application does with them. */
export function budgetProject(project: BudgetProject): string {
  const lines = [
    "import { Column, type Database, defineEntity, defineTable, Entity, Index, part, recordType, reverseTimestamp, RowKey, salt } from 'rowan-orm';",
    "import { boolean, date, desc, int32, int64, text, uint32 } from 'rowan-orm';",
    "const table = defineTable({ name: 't', families: { d: {} } });",
    'declare const database: Database;',
  ];
  for (let i = 0; i < ENTITIES; i++) lines.push(...entityLines(i, project));
  return `${lines.join('\n')}\n`;
}

function entityLines(i: number, project: BudgetProject): string[] {
  const suffix = project.sharedNames ? '' : `_${i}`;
  const elements = KEY_PARTS.map(({ element, codec }, p) => `${element}('k${p}${suffix}'${codec})`);
  const layout = `salt(16, ['k0${suffix}']), ${elements[0]}, recordType(), ${elements.slice(1).join(', ')}`;
  const declaration =
    project.form === 'classes' ? classLines(i, layout, suffix, project) : definitionLines(i, layout, suffix);
  const asked =
    project.keys === 'asked'
      ? [
          `export const by${i} = await repository${i}.by('byParts').find({ k0${suffix}: '', k1${suffix}: { gte: new Date(0) } }).all();`,
        ]
      : [];
  return [...declaration, ...useLines(i, suffix, USES.indexOf(project.use)), ...asked];
}

function classLines(
  i: number,
  layout: string,
  suffix: string,
  { inferCodecs, keys }: BudgetProject,
): string[] {
  const indexed = keys === 'index' || keys === 'asked';
  const key = KEY_PARTS.map((_, p) => `'k${p}${suffix}'`).join(', ');
  const columns = Array.from({ length: COLUMNS_OF_EACH }, (_, c) => {
    const { codec, type, emitted } = COLUMNS[c % COLUMNS.length]!;
    const written = inferCodecs && emitted ? '' : `, ${codec}`;
    return `  @Column('d:${c}'${written}) c${c}${suffix}${c % 2 === 0 ? '!' : '?'}: ${type};`;
  });
  return [
    `@Entity({ table, recordType: ${i} })`,
    ...(keys === 'none' ? [] : [`@RowKey(${layout})`]),
    ...(indexed ? [`@Index('byParts', [${layout.replace('recordType(), ', '')}])`] : []),
    `class Entity${i} {`,
    ...(keys === 'none' ? [] : [`  declare static readonly key: [${key}];`]),
    ...(indexed ? [`  declare static readonly indexes: { byParts: [${key}] };`] : []),
    ...KEY_PARTS.map(({ type }, p) => `  k${p}${suffix}!: ${type};`),
    ...columns,
    '}',
  ];
}

function definitionLines(i: number, layout: string, suffix: string): string[] {
  const columns = Array.from({ length: COLUMNS_OF_EACH }, (_, c) => {
    const { codec } = COLUMNS[c % COLUMNS.length]!;
    return `    c${c}${suffix}: c.column('d:${c}', ${codec})${c % 2 === 0 ? '' : '.optional()'},`;
  });
  const head = `name: 'Entity${i}', table, recordType: ${i}, key: [${layout}]`;
  return [`const Entity${i} = defineEntity({ ${head}, columns: (c) => ({`, ...columns, '  }) });'];
}

function useLines(i: number, suffix: string, uses: number): string[] {
  const key = KEY_PARTS.map(({ value }, p) => `k${p}${suffix}: ${value}`).join(', ');
  const first = `k0${suffix}: ''`;
  const values = Array.from({ length: COLUMNS_OF_EACH }, (_, c) => c)
    .filter((c) => c % 2 === 0)
    .map((c) => `c${c}${suffix}: ${COLUMNS[c % COLUMNS.length]!.value}`)
    .join(', ');
  const repository = `repository${i}`;
  const lines: readonly (readonly string[])[] = [
    [
      `const ${repository} = database.repository(Entity${i});`,
      `export const got${i} = await ${repository}.get({ ${key} });`,
      `await ${repository}.put(new Entity${i}());`,
    ],
    [
      `export const found${i} = await ${repository}.find({ ${first}, k1${suffix}: { gte: new Date(0) } }).all();`,
    ],
    [
      `export const part${i} = await ${repository}.find({ ${first} }).select('c0${suffix}', 'c1${suffix}').all();`,
    ],
    [
      `export const read${i}: string = part${i}[0]!.c0${suffix};`,
      `await ${repository}.put({ ${key}, ${values} });`,
      `await ${repository}.update({ ${key} }, { c0${suffix}: '' });`,
    ],
  ];
  return lines.slice(0, uses).flat();
}
