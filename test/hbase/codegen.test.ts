/** The Java program of docs/codegen.md, with HBase's client and the generated class, beside Rowan on the same table. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Column, Entity, part, recordType, reverseTimestamp, rowKey, salt } from '../../decorators/index.js';
import { javaSource } from '../../src/cli/codegen/java.js';
import { entityModels } from '../../src/cli/codegen/model.js';
import { decimal, enumeration } from '../../src/codec/index.js';
import { connect, type Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import { sharedHBase } from './connect.js';
import { classPath, run } from './server/class-path.js';
import { MODULE_FLAGS, TOOL_PATIENCE } from './server/jvm.js';
import { PROJECT_ROOT } from './server/layout.js';
import { uniqueTable } from './tables.js';

const name = uniqueTable('shop');

@Entity({ table: { name, families: { d: {} } }, recordType: 2 })
class Order {
  static readonly key = rowKey(
    salt(8, ['customerId']),
    part('customerId'),
    recordType(),
    reverseTimestamp('placedAt'),
  );
  customerId!: string;
  placedAt!: Date;
  @Column('d:s', enumeration({ open: 1, shipped: 2 })) status!: 'open' | 'shipped';
  @Column('d:t', decimal(2)) total!: string;
}

let folder: string;
let db: Database;
let jars: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-codegen-'));
  db = await connect({ masters: sharedHBase().masters, entities: [Order], tables: 'create' });
  jars = [folder, await classPath('server')].join(delimiter);
});
afterAll(async () => {
  await db.admin.disableTable(name);
  await db.admin.deleteTable(name);
  await db.close();
  rmSync(folder, { recursive: true, force: true });
});

it("HBase's client in Java reads what Rowan wrote, and writes what Rowan reads", async () => {
  const orders = db.repository(Order);
  for (const day of [1, 2]) {
    const placedAt = new Date(Date.UTC(2026, 0, day));
    await orders.put({ customerId: 'c1', placedAt, status: 'shipped', total: `${day}.5` });
    await orders.put({ customerId: 'c2', placedAt, status: 'open', total: '0' });
  }
  const schema = compileSchema([Order]);
  mkdirSync(join(folder, 'shop'));
  const generated = join(folder, 'shop/Shop.java');
  const models = entityModels(schema, schema.entities);
  writeFileSync(generated, javaSource(models, { className: 'Shop', packageName: 'shop' }));
  const page = readFileSync(join(PROJECT_ROOT, 'docs/codegen.md'), 'utf8');
  const program = join(folder, 'ReadOrders.java');
  writeFileSync(program, /<!-- java: ReadOrders -->\n```java\n([^`]*)```/.exec(page)![1]!);
  const compiled = await run('javac', ['-cp', jars, '-d', folder, generated, program]);
  if (compiled.code !== 0) throw new Error(`javac ended with code ${compiled.code}:\n${compiled.output}`);
  const args = [...MODULE_FLAGS, '-cp', jars, 'ReadOrders', sharedHBase().masters.join(',')];
  const { code, output } = await run('java', args, process.env, '', TOOL_PATIENCE);
  expect(output.split('\n').filter((line) => line.startsWith('2026-'))).toEqual([
    '2026-01-02T00:00:00Z shipped 2.50',
    '2026-01-01T00:00:00Z shipped 1.50',
  ]);
  expect(code).toBe(0);
  expect(await orders.find({ customerId: 'c1' }).first()).toMatchObject({
    placedAt: new Date('2026-03-01'),
    status: 'open',
    total: '5.00',
  });
});
