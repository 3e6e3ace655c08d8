/** Whatever a schema was and becomes: once it is applied there is nothing left to do. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Database } from '../../src/database.js';
import type { Allowance, SchemaPlan } from '../../src/ddl/index.js';
import { readSnapshot, writeSnapshot } from '../../src/ddl/index.js';
import { planSchema } from '../../src/ddl/plan/plan.js';
import type { Schema } from '../../src/schema/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import type { Engine } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { scaled } from '../proof/scale.js';
import { compiled, schemaPairs } from './random-schemas.js';

const RUNS = scaled(2, 25, 1000);

function everything({ steps }: SchemaPlan): Allowance[] {
  const losses = steps.filter((step) => step.class === 'data-loss');
  return ['meaning', 'offline', ...losses.map(({ id }): Allowance => `data-loss:${id}`)];
}

async function withEngine(use: (engine: Engine) => Promise<void>): Promise<void> {
  const engine = await openEmbedded('/store', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
    automatic: false,
  });
  try {
    await use(engine);
  } finally {
    await engine.close();
  }
}

describe('a plan that is applied', () => {
  it('leaves nothing to do, and the tables as they are declared', async () => {
    await fc.assert(
      fc.asyncProperty(schemaPairs('ns:things'), async (pair) =>
        withEngine(async (engine) => {
          for (const schema of pair.map(compiled)) {
            const tools = new Database(schema, engine).schema;
            const before = await tools.plan({ prune: true });
            expect(before.contradictions).toEqual([]);
            const { held } = await tools.apply({ allow: everything(before), prune: true });
            expect(held).toEqual([]);
            expect(await tools.plan({ prune: true })).toMatchObject({ steps: [], unmanaged: [] });
            const { metadata, ...live } = await engine.admin.getDescriptor('ns:things');
            const { metadata: notes, ...declared } = schema.tables[0]!.descriptor;
            expect(live).toEqual(declared);
            expect(metadata).toMatchObject(notes);
          }
        }),
      ),
      { numRuns: RUNS },
    );
  });

  it('leaves exactly what was held back, when nothing is allowed', async () => {
    await fc.assert(
      fc.asyncProperty(schemaPairs('things'), async (pair) =>
        withEngine(async (engine) => {
          const [first, second] = pair.map(compiled) as [Schema, Schema];
          await new Database(first, engine).schema.apply();
          const tools = new Database(second, engine).schema;
          const { held, done } = await tools.apply();
          const ids = (steps: SchemaPlan['steps']): string[] =>
            steps.filter(({ kind }) => kind !== 'compact').map(({ id }) => id);
          expect(ids((await tools.plan()).steps)).toEqual(ids(held));
          for (const step of done) expect(['online', 'rewrite']).toContain(step.class);
          for (const { name } of (await engine.admin.getDescriptor('things')).families) {
            expect([
              ...first.tables[0]!.descriptor.families,
              ...second.tables[0]!.descriptor.families,
            ]).toContainEqual(expect.objectContaining({ name }));
          }
          const families = (await engine.admin.getDescriptor('things')).families.map(({ name }) => name);
          expect(families).toEqual(
            expect.arrayContaining(first.tables[0]!.descriptor.families.map(({ name }) => name)),
          );
        }),
      ),
      { numRuns: RUNS },
    );
  });

  it('is the plan from a snapshot too: none against its own, and the steps of the change against another', () => {
    fc.assert(
      fc.property(schemaPairs('ns:things'), (pair) => {
        const [first, second] = pair.map(compiled) as [Schema, Schema];
        const state = readSnapshot(writeSnapshot(first.tables)).state;
        expect(planSchema(first.tables, state)).toMatchObject({ steps: [], contradictions: [] });
        const text = writeSnapshot(second.tables);
        expect(writeSnapshot(second.tables)).toBe(text);
        const steps = planSchema(second.tables, state, [], { prune: true }).steps.map(({ id }) => id);
        const back = planSchema(first.tables, readSnapshot(text).state, [], { prune: true }).steps;
        // A change back is a change: of an option the same step the other way about.
        for (const { id, kind } of back) if (kind === 'set') expect(steps).toContain(id);
      }),
      { numRuns: RUNS },
    );
  });
});
