/** `rowan diagram`: entities and relations in Mermaid, and as a picture. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import {
  Column,
  Counter,
  Entity,
  index,
  part,
  Reference,
  References,
  type Related,
  rowKey,
  uniqueIndex,
} from '../../decorators/index.js';
import { svgDiagram } from '../../src/cli/diagram-svg.js';
import { date, decimal, enumeration, fixedString, text } from '../../src/codec/index.js';
import { desc, uint32 } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { diagramOf, entityDiagram } from '../../src/schema/diagram.js';
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
    decimal(2) price "d"
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

test('a type is the name of its codec, and what several values make unique is marked', () => {
  @Entity({ table: table('accounts') })
  class Account {
    static readonly key = rowKey(part('id'));
    static readonly indexes = {
      byName: uniqueIndex('tenant', 'name'),
      byCode: uniqueIndex('code'),
      byTenant: index('tenant', 'plan'),
    };
    id!: string;
    @Column('d:t', text) tenant!: string;
    @Column('d:n', text) name!: string;
    @Column('d:c', fixedString(4, '_')) code!: string;
    @Column('d:p', enumeration({ free: 1, 'pro (old)': 2 })) plan?: 'free' | 'pro (old)';
    @Column('d:r', desc(enumeration({ a: 1 }))) rank?: 'a';
  }
  expect(entityDiagram(compileSchema([Account]))).toBe(`erDiagram
  Account {
    text id PK
    fixedString code UK "d"
    text name UK "d, unique with tenant"
    enumeration plan "d"
    desc(enumeration) rank "d"
    text tenant UK "d, unique with name"
  }
`);
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

/** The attributes of the elements of a class. */
function elements(svg: string, pattern: RegExp): Record<string, string>[] {
  return [...svg.matchAll(pattern)].map(([element]) =>
    Object.fromEntries(
      [...element.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
    ),
  );
}

test('a picture has each entity in a box of its own, with all texts inside, and a line for each relation', () => {
  const diagram = diagramOf(compileSchema([Order, Product, Customer]));
  const svg = svgDiagram(diagram);
  expect(svgDiagram(diagram)).toBe(svg);
  const boxes = elements(svg, /<rect class="box" [^>]*>/g).map(({ x, y, width, height }) => ({
    left: Number(x),
    top: Number(y),
    right: Number(x) + Number(width),
    bottom: Number(y) + Number(height),
  }));
  expect(boxes).toHaveLength(3);
  for (const [at, box] of boxes.entries()) {
    for (const other of boxes.slice(at + 1)) {
      const apart =
        box.right < other.left || other.right < box.left || box.bottom < other.top || other.bottom < box.top;
      expect(apart).toBe(true);
    }
  }
  const groups = svg.split('<g>').slice(1);
  for (const [at, group] of groups.entries()) {
    const { left, right, top, bottom } = boxes[at]!;
    for (const [, x, y, text] of group
      .split('</g>')[0]!
      .matchAll(/<text[^>]* x="([\d.]+)" y="([\d.]+)">([^<]*)</g)) {
      expect([Number(x) >= left, Number(x) + text!.length * 7.25 <= right]).toEqual([true, true]);
      expect([Number(y) > top, Number(y) < bottom]).toEqual([true, true]);
    }
  }
  expect(svg).toMatch(
    />Customer<[\s\S]*>PK<\/text><text [^>]*>id<\/text><text class="type" [^>]*>text<[\s\S]*>text d:</,
  );
  const lines = elements(svg, /<path class="line[^>]*marker-start[^>]*>/g);
  expect(lines.map((line) => [line['marker-start'], line['marker-end']])).toEqual([
    ['url(#many)', 'url(#one)'],
    ['url(#many)', 'url(#one)'],
  ]);
  const names = { name: 'a<b', properties: [{ name: '"&', type: 'text' }] };
  const odd = svgDiagram({
    entities: [names],
    links: [{ from: 'a<b', to: 'a<b', label: 'self', kind: 'copies' }],
  });
  expect(odd).toContain('>a&lt;b<');
  expect(odd).toContain('>&quot;&amp;<');
  expect(odd).toContain('class="line copies"');
});

test('--svg writes a picture, and takes no options of Mermaid', async () => {
  const picture = await run('diagram', MODULE, '--svg');
  expect(picture).toMatchObject({ code: 0, err: '' });
  expect(picture.out).toMatch(
    /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="\d+" height="\d+"[\s\S]*<\/svg>\n$/,
  );
  const refused = await run('diagram', MODULE, '--svg', '--markdown');
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('--svg is a picture')]);
  expect((await run('diagram', MODULE, '--mermaid')).out).toMatch(/^erDiagram\n/);
});
