import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-js';
import { describe, expect, it } from 'vitest';
import { scaled } from '../proof/scale.js';
import { CACHE, consumerFolder, MODES, ROOT, STRICT, tsc, write } from './compiler.js';

const MODELS = `import {
  avroCodec, avro, Column, Columns, date, decimal, defineEntity, defineTable, Embedded, Entity, type EntityOf, enumeration, hash,
  index, type Input, type KeyOf, part, type Patch, recordType, Reference, type Related, type Repository, reverseTimestamp, RowKey,
  rowKey, salt, summary, type SummaryResult, text, timeBucket, uint32, uniqueIndex,
} from 'rowan-orm';

export const crm = defineTable({ name: 'shop:crm', families: { d: {}, p: {} } });

export class Address {
  @Column('city', text) city!: string;
}

@Entity({ table: crm, recordType: 1 })
@RowKey(salt(16), part('id'), recordType())
export class Customer {
  declare static readonly key: ['id'];
  id!: string;
  @Embedded('d', () => Address) address?: Address | null;
  @Columns('p:', { value: date }) followers!: Map<string, Date>;
}

@Entity({ table: crm, recordType: 4 })
export class Ticket {
  static readonly key = rowKey(salt(16), 'id', recordType());
  static readonly indexes = {
    byStatus: index('status', reverseTimestamp('at'), { include: ['customerId'] }),
    byNo: uniqueIndex(part('no', uint32)),
  };
  static readonly summaries = { perStatus: summary({ by: ['status'], figures: { tickets: 'count', last: { max: 'at' } } }) };
  id!: string;
  @Column('d:s', text) status!: string;
  @Column('d:a', date) at!: Date;
  @Column('d:n', uint32) no!: number;
  @Column('d:c', text) customerId!: string;
  @Reference(() => Customer, { id: 'customerId' }) customer?: Related<Customer> | null;
}
export const byStatus = (tickets: Repository<typeof Ticket>) => tickets.by('byStatus').find({ status: 'open' });
export const withCustomer = (tickets: Repository<typeof Ticket>) => tickets.find({ id: 'a' }).with('customer').all();
export type PerStatus = SummaryResult<typeof Ticket, 'perStatus'>;
export const lastOf = (group: PerStatus): Date | null => group.last;

export const Order = defineEntity({
  name: 'Order',
  table: crm,
  recordType: 2,
  key: [salt(16), part('id'), recordType(), reverseTimestamp('at'), hash('no', { keep: true }), part('n', uint32)],
  columns: (c) => ({
    status: c.column('d:s', enumeration({ open: 1, shipped: 2 })),
    total: c.column('d:t', decimal(2)).optional(),
    lines: c.column('d:l', avroCodec(avro.array(avro.record('Line', { sku: avro.string })))),
    address: c.embedded('d', (a) => ({ city: a.column('city', text) })),
    followers: c.columns('p:f', { key: uint32, value: date }),
    version: c.version('d:v'),
  }),
});
export type Order = EntityOf<typeof Order>;

export const Hour = defineEntity({
  name: 'Hour',
  table: crm,
  recordType: 3,
  key: [part('metric'), recordType(), timeBucket('at', '1h')],
  columns: (c) => ({ points: c.packed('d:', { part: 'at', value: uint32 }) }),
});

export const elements = [salt(4), part('x', uint32), hash('y')];
export const codecs = { status: enumeration({ a: 1 }), total: decimal(2) };
export const keyOf = (order: Order) => ({ id: order.id, at: order.at, no: order.no, n: order.n });
export const put = (orders: Repository<typeof Order>) => (order: Input<typeof Order>) => orders.put(order);
export const find = (orders: Repository<typeof Order>) => orders.find({ id: 'a' });
export type OrderKey = KeyOf<typeof Order>;
export type OrderPatch = Patch<typeof Order>;
`;

const USER = `import { Customer, find, Order, type OrderKey } from './models.js';
import * as models from './models.js';
export const again = { ...models };
export const key: OrderKey = { id: 'a', at: new Date(), no: 'x', n: 1 };
export const order = new Order({ id: 'a', status: 'open' });
export class RichOrder extends Order { label() { return this.id; } }
export { Customer, find };
`;

consumerFolder('library');

describe.each(scaled(MODES.slice(1), MODES, MODES))(
  'a library that exports its entities, with %s',
  (_mode, options) => {
    it('has declaration files that another project can use', async () => {
      const folder = `library/${options[1]}`;
      const models = write(`${folder}/models.ts`, MODELS);
      const user = write(`${folder}/user.ts`, USER);
      const emit = STRICT.filter((option) => option !== '--noEmit');
      const out = join(CACHE, `${folder}-types`);
      const emitted = await tsc(
        ...emit,
        ...options,
        '--declaration',
        '--emitDeclarationOnly',
        '--outDir',
        out,
        models,
        user,
      );
      expect(emitted.output).toBe('');
      expect(existsSync(join(out, 'user.d.ts'))).toBe(true);
      expect(readFileSync(join(out, 'models.d.ts'), 'utf8')).not.toMatch(/import\("\.|node_modules|\bany\b/);
      const consumer = write(
        `${folder}-types/consumer.ts`,
        "import { key, RichOrder } from './user.js';\nimport { keyOf } from './models.js';\nconst made: RichOrder = new RichOrder();\nexport const status: 'open' | 'shipped' = made.status;\nexport const again: typeof key = keyOf(made);\n",
      );
      expect((await tsc(...STRICT, ...options, consumer)).output).toBe('');
    });
  },
);

/** The classes of the shared declaration file that have a constructor, or protected members. */
function classesForMoreThanReading(): string[] {
  const path = join(ROOT, 'dist/chunk-types.d.ts');
  const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  return file.statements.filter(ts.isClassDeclaration).flatMap(({ name, members }) => {
    const has = members.some(
      (member) =>
        ts.isConstructorDeclaration(member) ||
        (ts.canHaveModifiers(member) &&
          ts.getModifiers(member)?.some(({ kind }) => kind === ts.SyntaxKind.ProtectedKeyword)),
    );
    return has ? [name!.text] : [];
  });
}

/** The names of the classes that the package exports, and of those they extend. */
async function classesAtRunTime(): Promise<Set<string>> {
  const names = new Set<string>();
  const entries = JSON.parse(readFileSync(join(ROOT, 'packaging/entries.json'), 'utf8')) as object;
  for (const entry of Object.keys(entries)) {
    const module = (await import(join(ROOT, 'dist', `${entry}.js`))) as Readonly<Record<string, unknown>>;
    for (const value of Object.values(module)) {
      for (let at = value; typeof at === 'function' && at.name !== ''; at = Object.getPrototypeOf(at)) {
        names.add(at.name);
      }
    }
  }
  return names;
}

describe('declarations of the package', () => {
  it('have constructors and protected members of classes that a program can make or extend, and of no others', async () => {
    const declared = classesForMoreThanReading();
    const usable = await classesAtRunTime();
    expect(declared.filter((name) => !usable.has(name))).toEqual([]);
    expect(declared).toEqual(
      expect.arrayContaining(['Put', 'Mutation', 'RowanError', 'Database', 'JobBuilder']),
    );
  });

  it('check what programs make and extend', async () => {
    const program = write(
      'library/makes.ts',
      `import { RowanError } from 'rowan-orm';
import { AvroCodec, MemorySchemaStore } from 'rowan-orm/codecs';
import { Get, Put } from 'rowan-orm/table';
import { MemoryFileSystem } from 'rowan-orm/testing';
export class Refused extends RowanError {
  constructor() { super('ERR_INVALID_ARGUMENT', 'No.'); }
}
export const made = [new Get(Uint8Array.of(1)), new Put(Uint8Array.of(1)), new AvroCodec('string'), new MemorySchemaStore(), new MemoryFileSystem()];
// @ts-expect-error A row is bytes.
new Get(1);
// @ts-expect-error A put has a row.
new Put();
// @ts-expect-error A schema is needed.
new AvroCodec();
// @ts-expect-error An error has a code.
new RowanError();
`,
    );
    expect((await tsc(...STRICT, program)).output).toBe('');
  });
});
