/** Plans on Bigtable, and the tables of `rowan ddl --engine bigtable`. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GcRule, keepingOf } from '../../src/bigtable/gc-rules.js';
import { tableIdOf } from '../../src/bigtable/names.js';
import type { BigtableOptions } from '../../src/bigtable/options.js';
import { cbtScript, terraformSource } from '../../src/bigtable/statements.js';
import type { SchemaTools } from '../../src/database/schema-tools.js';
import { Database } from '../../src/database.js';
import type { Allowance, SchemaPlan } from '../../src/ddl/index.js';
import { type Engine, type TableDescriptor, tableDescriptor } from '../../src/table/index.js';
import { compiled, type RandomSchema, schemaPairs } from '../ddl/random-schemas.js';
import { scaled } from '../proof/scale.js';
import { connectShared, freshInstance } from './connect.js';
import { builtProgram, CBT, HCLDEC } from './emulator/emulator.js';

let engine: Engine;
beforeAll(async () => {
  engine = await connectShared();
});
afterAll(() => engine.close());

function everything({ steps }: SchemaPlan): Allowance[] {
  const losses = steps.filter((step) => step.class === 'data-loss');
  return ['meaning', 'offline', ...losses.map(({ id }): Allowance => `data-loss:${id}`)];
}

const toolsOf = (schema: RandomSchema): SchemaTools => new Database(compiled(schema), engine).schema;

describe('a plan on Bigtable', () => {
  it('leaves nothing to do once it is applied, whatever is declared and then declared anew', async () => {
    for (let i = 0; i < scaled(6, 30, 200); i++) {
      for (const schema of fc.sample(schemaPairs(`schema${i}`), 1)[0]!) {
        const tools = toolsOf(schema);
        await tools.apply({ allow: everything(await tools.plan({ prune: true })), prune: true });
        const plan = await tools.plan({ prune: true });
        expect([schema, plan.steps, plan.unmanaged, plan.contradictions]).toEqual([schema, [], [], []]);
        const { metadata: _, ...live } = await engine.admin.getDescriptor(schema.name);
        const { metadata: __, ...declared } = compiled(schema).tables[0]!.descriptor;
        expect(live).toEqual(declared);
      }
    }
  });
});

const TABLES = [
  {
    descriptor: tableDescriptor(
      'shop:orders',
      {
        d: {},
        log: { versions: 5, ttl: 86_400, minVersions: 1, compression: 'ZSTD', keepDeletedCells: 'TRUE' },
        old: { versions: 2_147_483_647 },
        end: { versions: 2_147_483_647, ttl: 60 },
      },
      { maxFileSize: 1 << 30, metadata: { stamp: 'x' } },
    ),
    splitKeys: [Buffer.from('c'), Buffer.from("it's"), Buffer.from('a,b'), Buffer.of(0, 255)],
  },
  { descriptor: tableDescriptor('2-plain', { f: {} }), splitKeys: [] },
];

describe('rowan ddl --engine bigtable', () => {
  const golden = (name: string) => fileURLToPath(new URL(`../ddl/bigtable/${name}`, import.meta.url));

  it('prints cbt commands and resources as they were looked at', async () => {
    await expect(cbtScript(TABLES)).toMatchFileSnapshot(golden('tables.cbt.sh'));
    await expect(terraformSource(TABLES)).toMatchFileSnapshot(golden('tables.tf'));
  });

  it('has commands by which cbt creates the tables that are declared', async () => {
    const instance = freshInstance();
    await runScript(cbtScript(TABLES), instance);
    const other = await connectShared(instance);
    for (const { descriptor } of TABLES) {
      expect(keepingOfAll(await other.admin.getDescriptor(descriptor.name))).toEqual(
        keepingOfAll(descriptor),
      );
    }
    // What the commands leave out is added by a plan.
    await other.admin.createNamespace('shop');
    await other.admin.modifyTable(TABLES[0]!.descriptor);
    expect(await other.admin.getDescriptor('shop:orders')).toEqual(TABLES[0]!.descriptor);
    await other.close();
  });

  it('has resources that declare the tables, in the language of Terraform', async () => {
    const { resource } = await decoded(golden('tables.tf'), golden('tables.hcldec'));
    const tables = Object.values(resource.google_bigtable_table);
    const policies = Object.values(resource.google_bigtable_gc_policy);
    for (const { descriptor } of TABLES) {
      const id = tableIdOf(descriptor.name);
      const table = tables.find(({ name }) => name === id)!;
      expect(table.deletion_protection).toBe('PROTECTED');
      const families = Object.fromEntries(
        table.column_family.map(({ family }) => {
          const policy = policies.find((one) => one.table === id && one.column_family_of_rule === family);
          return [family, keepingOf(policy && ruleOf(JSON.parse(policy.gc_rules)))];
        }),
      );
      expect(keepingOfAll(tableDescriptor(descriptor.name, families))).toEqual(keepingOfAll(descriptor));
    }
    const splits = tables.map((table) => table.split_keys ?? []);
    expect(splits).toEqual([[], ['c', "it's", 'a,b']]);
  });
});

const keepingOfAll = ({ families }: TableDescriptor) =>
  families.map(({ name, versions, minVersions, ttl }) => ({ name, versions, minVersions, ttl }));

/** Runs a script by a shell, with Google's `cbt`. */
async function runScript(script: string, { projectId, instanceId, emulatorHost }: BigtableOptions) {
  const home = await mkdtemp(join(tmpdir(), 'rowan-cbt-'));
  await symlink(await builtProgram(CBT), join(home, 'cbt'));
  await writeFile(join(home, '.cbtrc'), `project = ${projectId}\ninstance = ${instanceId}\n`);
  await writeFile(join(home, 'tables.sh'), script);
  const path = `${home}:${process.env['PATH']}`;
  const env = { ...process.env, HOME: home, PATH: path, BIGTABLE_EMULATOR_HOST: emulatorHost };
  await promisify(execFile)('/bin/sh', ['-eu', join(home, 'tables.sh')], { env });
  await rm(home, { recursive: true });
}

/** A file of Terraform's language as a decoder reads it that knows what its blocks may have. */
async function decoded(file: string, spec: string): Promise<Resources> {
  const names = { shop__orders: { name: 'shop..orders' }, '_2-plain': { name: '2-plain' } };
  const known = { var: { bigtable_instance: 'i' }, google_bigtable_table: names };
  const args = [`--spec=${spec}`, `--vars=${JSON.stringify(known)}`, file];
  const { stdout } = await promisify(execFile)(await builtProgram(HCLDEC), args);
  return JSON.parse(stdout) as Resources;
}

interface Resources {
  readonly resource: {
    readonly google_bigtable_table: Record<
      string,
      {
        readonly name: string;
        readonly deletion_protection: string;
        readonly split_keys?: readonly string[];
        readonly column_family: readonly { readonly family: string }[];
      }
    >;
    readonly google_bigtable_gc_policy: Record<
      string,
      { readonly table: string; readonly column_family_of_rule: string; readonly gc_rules: string }
    >;
  };
}

/** A rule as Terraform's provider writes it. */
interface ProviderRule {
  readonly max_version?: number;
  readonly max_age?: string;
  readonly mode?: 'union' | 'intersection';
  readonly rules?: readonly ProviderRule[];
}

function ruleOf({ max_version, max_age, mode, rules = [] }: ProviderRule): GcRule {
  if (max_version !== undefined) return { maxNumVersions: max_version };
  if (max_age !== undefined) return { maxAge: { seconds: Number(/^(\d+)s$/.exec(max_age)![1]) } };
  // A policy of one rule needs no mode.
  return mode === undefined ? ruleOf(rules[0]!) : { [mode]: { rules: rules.map(ruleOf) } };
}
