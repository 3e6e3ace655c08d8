/** `rowan diagram`: entities and relations in Mermaid. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import {
  Column,
  Counter,
  Entity,
  part,
  Reference,
  References,
  type Related,
  rowKey,
  uniqueIndex,
} from '../../decorators/index.js';
import { date, decimal, text } from '../../src/codec/index.js';
import { uint32 } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { entityDiagram } from '../../src/schema/diagram.js';
import { run } from './run.js';

const table = (name: string) => ({ name, families: { d: {} } });

@Entity({ table: table('customers') })
class Customer {
  static readonly key = rowKey(part('id'));
  static readonly indexes = { byEmail: uniqueIndex('email') };
  id!: string;
  @Column('d:e', text) email!: string;
  @Counter('d:v') visits?: bigint;
  @References(() => Order, { customerId: 'id' }) orders?: Related<Order[]>;
}

@Entity({ table: table('products') })
class Product {
  static readonly key = rowKey(part('code'));
  code!: string;
  @Column('d:p', decimal(2)) price!: string;
}

@Entity({ table: table('orders') })
class Order {
  static readonly key = rowKey(part('customerId'), part('no', uint32));
  customerId!: string;
  no!: number;
  @Column('d:c', text) code?: string;
  @Column('d:a', date) at?: Date;
  @Reference(() => Customer, { id: 'customerId' }) customer?: Related<Customer> | null;
  @Reference(() => Product, { code: 'code' }) product?: Related<Product> | null;
}

const ALL = `erDiagram
  Customer {
    text id PK
    text email UK "d"
    counter visits "d"
  }
  Order {
    text customerId PK
    uint32 no PK
    date at "d"
    text code "d"
  }
  Product {
    text code PK
    decimal_2_ price "d"
  }
  Order }o--o| Customer : "customer"
  Order }o--o| Product : "product"
`;

test('draws each entity with key, unique values and columns, and each relation once', () => {
  const schema = compileSchema([Order, Product, Customer]);
  expect(entityDiagram(schema)).toBe(ALL);
  const keys = entityDiagram(schema, { columns: false });
  expect(keys).toContain('text id PK');
  expect(keys).not.toContain('email');
});

test('draws some entities with those that they refer to', () => {
  const schema = compileSchema([Order, Product, Customer]);
  const some = entityDiagram(schema, { entities: [schema.entity(Product)] });
  expect(some).not.toContain('Order');
  expect(entityDiagram(schema, { entities: [schema.entity(Order)] })).toBe(ALL);
});

const MODULE = fileURLToPath(new URL('../../build/test/fixtures/stores/entities.js', import.meta.url));

test('the command prints it, or writes it to a file as Markdown', async () => {
  const { code, out } = await run('diagram', MODULE);
  expect(code).toBe(0);
  expect(out).toMatch(/^erDiagram\n {2}\w+ \{\n/);
  const folder = mkdtempSync(join(tmpdir(), 'rowan-diagram-'));
  try {
    const file = join(folder, 'diagram.md');
    expect(await run('diagram', MODULE, '--markdown', '--out', file)).toMatchObject({ code: 0, out: '' });
    expect(readFileSync(file, 'utf8')).toBe(`\`\`\`mermaid\n${out}\`\`\`\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
  expect(await run('diagram', MODULE, '--entity', 'Nobody')).toMatchObject({ code: 1 });
});
