/** Plans on a real HBase: applied by Rowan, and run as scripts in the real shell. */

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SchemaTools } from '../../src/database/schema-tools.js';
import { Database } from '../../src/database.js';
import { type Allowance, planScript, type SchemaPlan } from '../../src/ddl/index.js';
import type { Engine, TableDescriptor } from '../../src/table/index.js';
import { compiled, type RandomSchema, schemaPairs } from '../ddl/random-schemas.js';
import { scaled } from '../proof/scale.js';
import { connectShared, sharedHBase } from './connect.js';
import { InstanceLayout } from './server/layout.js';
import { runShell } from './server/shell.js';
import { dropTable, uniqueTable } from './tables.js';

const PAIRS = scaled(4, 10, 40);
/** Signs of a statement that the shell did not take as it was meant. */
const REFUSED = /ignored|ERROR|WARN.*(?<!NativeCodeLoader.*)argument/i;

let engine: Engine;
beforeAll(async () => {
  engine = await connectShared();
});
afterAll(() => engine.close());

function everything({ steps }: SchemaPlan): Allowance[] {
  const losses = steps.filter((step) => step.class === 'data-loss');
  return ['meaning', 'offline', ...losses.map(({ id }): Allowance => `data-loss:${id}`)];
}

/** Other pairs in each run, of tables with names of their own. */
function pairsOf(purpose: string): (readonly [RandomSchema, RandomSchema])[] {
  return Array.from({ length: PAIRS }, () => fc.sample(schemaPairs(uniqueTable(purpose)), 1)[0]!);
}

function toolsOf(schema: RandomSchema): SchemaTools {
  const declared = compiled(schema);
  return new Database(declared, engine).schema;
}

async function expectDeclared(schema: RandomSchema): Promise<void> {
  const plan = await toolsOf(schema).plan({ prune: true });
  expect([schema, plan.steps, plan.unmanaged, plan.contradictions]).toEqual([schema, [], [], []]);
  const { metadata: _, ...live } = await engine.admin.getDescriptor(schema.name);
  const { metadata: notes, ...declared }: TableDescriptor = compiled(schema).tables[0]!.descriptor;
  expect(live).toEqual(declared);
  expect(_).toMatchObject(notes);
}

describe('a plan on HBase', () => {
  it('leaves nothing to do once it is applied', async () => {
    for (const pair of pairsOf('schema')) {
      for (const schema of pair) {
        const tools = toolsOf(schema);
        await tools.apply({ allow: everything(await tools.plan({ prune: true })), prune: true });
        await expectDeclared(schema);
      }
      await dropTable(engine, pair[0].name);
    }
  });

  it('and leaves nothing to do once the real shell has run it', async () => {
    const pairs = pairsOf('script');
    for (const side of [0, 1] as const) {
      const scripts: string[] = [];
      for (const pair of pairs) {
        const plan = await toolsOf(pair[side]).plan({ prune: true });
        scripts.push(planScript(plan, everything(plan)));
      }
      const script = scripts.join('\n');
      const output = await runShell(new InstanceLayout(sharedHBase().instance), script);
      const refused = output.split('\n').filter((line) => REFUSED.test(line) && !line.startsWith('hbase:'));
      for (const line of refused) expect(line).toMatch(/is not OPEN/);
      // Splits of the shell are not waited for, and cells of columns that are declared no more are the work of a job: both are
      // done now.
      for (const pair of pairs) {
        const plan = await toolsOf(pair[side]).plan({ prune: true });
        for (const { kind } of plan.steps) expect(['split', 'drop-column'], kind).toContain(kind);
        await toolsOf(pair[side]).apply({ allow: everything(plan), prune: true });
        await expectDeclared(pair[side]);
      }
    }
    for (const [{ name }] of pairs) await dropTable(engine, name);
  });

  it('disables a table for copies of its regions, and enables it again', async () => {
    const [schema] = pairsOf('copies')[0]!;
    const plain = { ...schema, options: { readOnly: false }, regions: 1 };
    await toolsOf(plain).apply();
    const copies = { ...plain, options: { readOnly: false, regionReplication: 2 } };
    const { held } = await toolsOf(copies).apply();
    expect(held.map((step) => step.class)).toEqual(['offline']);
    await toolsOf(copies).apply({ allow: ['offline'] });
    expect(await engine.admin.isTableEnabled(schema.name)).toBe(true);
    await expectDeclared(copies);
    await dropTable(engine, schema.name);
  });
});
