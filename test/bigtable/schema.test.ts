/** Plans on Bigtable, and the tables of `rowan ddl --engine bigtable`. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BigtableClient } from '../../src/bigtable/client.js';
import type { GcRule } from '../../src/bigtable/gc-rules.js';
import { resolveSettings } from '../../src/bigtable/options.js';
import { cbtScript, terraformSource } from '../../src/bigtable/statements.js';
import { Database } from '../../src/database.js';
import type { Allowance, SchemaPlan } from '../../src/ddl/index.js';
import type { SchemaTools } from '../../src/features/evolution/handle.js';
import { type Engine, tableDescriptor } from '../../src/table/index.js';
import { compiled, type RandomSchema, schemaPairs } from '../ddl/random-schemas.js';
import { scaled } from '../proof/scale.js';
import { connectShared, freshInstance } from './connect.js';

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

  it('has commands that make the tables that are declared', async () => {
    const instance = freshInstance();
    for (const words of await wordsOf(cbtScript(TABLES))) await createAsCbt(instance, words);
    const other = await connectShared(instance);
    for (const { descriptor } of TABLES) {
      const made = await other.admin.getDescriptor(descriptor.name);
      const keeping = ({ families }: typeof made) =>
        families.map(({ name, versions, minVersions, ttl }) => ({ name, versions, minVersions, ttl }));
      expect(keeping(made)).toEqual(keeping(descriptor));
    }
    await other.close();
  });
});

/** The arguments of each command of a script, as a shell gives them to `cbt`. */
async function wordsOf(script: string): Promise<string[][]> {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-cbt-'));
  const out = join(folder, 'out');
  // Every argument behind a NUL, every command behind two.
  const text = `cbt() { printf '\\0\\0' >> ${out}; printf '%s\\0' "$@" >> ${out}; }\n${script}`;
  await writeFile(join(folder, 'script.sh'), text);
  await promisify(execFile)('/bin/sh', ['-eu', join(folder, 'script.sh')]);
  const commands = readFileSync(out, 'utf8').split('\0\0').filter(Boolean);
  await rm(folder, { recursive: true });
  return commands.map((command) => command.split('\0').filter(Boolean));
}

/** Does what `cbt createtable` does, by the admin API. */
async function createAsCbt(
  instance: ReturnType<typeof freshInstance>,
  [command, tableId, ...options]: readonly string[],
): Promise<void> {
  expect(command).toBe('createtable');
  const given = new Map(
    options.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
  );
  const client = await BigtableClient.of(resolveSettings(instance));
  const columnFamilies = Object.fromEntries(
    given
      .get('families')!
      .split(',')
      .map((family) => {
        const at = family.indexOf(':');
        const gcRule = policyOf(family.slice(at + 1));
        return [family.slice(0, at), gcRule === undefined ? {} : { gcRule }];
      }),
  );
  const initialSplits = (given.get('splits')?.split(',') ?? []).map((key) => ({ key: Buffer.from(key) }));
  const request = { parent: client.instance, tableId, table: { columnFamilies }, initialSplits };
  await client.adminCall('createTable', request, client.deadline({ call: 'createTable' }, {}));
  await client.close();
}

/** A policy as `cbt` reads it: `never`, or `maxage=…` and `maxversions=…` with `||`, `&&` and parentheses. */
function policyOf(text: string): GcRule | undefined {
  if (text === 'never') return undefined;
  const words = text.match(/\(|\)|\|\||&&|max\w+=\w+/g)!;
  expect(words.join('')).toBe(text.replaceAll(' ', ''));
  const term = (): GcRule => {
    const word = words.shift()!;
    if (word === '(') {
      const inner = expression();
      expect(words.shift()).toBe(')');
      return inner;
    }
    const [, kind, count, unit] = /^(maxage|maxversions)=(\d+)(s?)$/.exec(word)!;
    expect(unit).toBe(kind === 'maxage' ? 's' : '');
    return kind === 'maxage' ? { maxAge: { seconds: Number(count) } } : { maxNumVersions: Number(count) };
  };
  const expression = (): GcRule => {
    let left = term();
    while (words[0] === '||' || words[0] === '&&') {
      const rules = { union: words.shift() === '||', right: term() };
      const both = { rules: [left, rules.right] };
      left = rules.union ? { union: both } : { intersection: both };
    }
    return left;
  };
  const whole = expression();
  expect(words).toEqual([]);
  return whole;
}
