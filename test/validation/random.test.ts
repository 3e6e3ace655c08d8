import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { compileSchema, type Database, type Input, type KeyedClass, RowanError } from '../../src/index.js';
import { entities } from '../../src/testing/fast-check.js';
import { openMemory } from '../../src/testing/index.js';
import { inputSchema, patchSchema } from '../../src/validation/index.js';
import { scaled } from '../proof/scale.js';
import { randomEntities } from './random.js';

type Properties = Record<string, unknown>;

const classes = randomEntities(scaled(8, 40, 300), 7);
const numRuns = scaled(5, 20, 50);
let db: Database;

beforeAll(async () => {
  db = await openMemory({ entities: classes });
});
afterAll(() => db.close());

/** What is no value of most columns, or stands for one. */
const junk = fc.oneof(
  fc.anything(),
  fc.constantFrom(null, undefined, '', '5', 'true', '2026-01-01', new Date(Number.NaN), new Map(), [], {}),
);

/** The error of the repository, where it refuses the entity for what it is. */
async function insertError(target: KeyedClass, entity: unknown): Promise<RowanError | undefined> {
  try {
    await db.repository(target).insert(entity as Input<KeyedClass>);
  } catch (error) {
    if (!(error instanceof RowanError)) throw error;
    if (error.code !== 'ERR_CONFLICT') return error;
  }
  return undefined;
}

it('accepts what insert takes, and what it accepts insert takes', async () => {
  for (const target of classes) {
    const schema = inputSchema(target)['~standard'];
    await fc.assert(
      fc.asyncProperty(entities(target), async (entity) => {
        const result = await schema.validate(entity);
        expect(result.issues).toBeUndefined();
        expect(await insertError(target, (result as { value: unknown }).value)).toBeUndefined();
      }),
      { numRuns },
    );
  }
});

it('refuses with the path of what is wrong, as insert does', async () => {
  let refused = 0;
  for (const target of classes) {
    const schema = inputSchema(target)['~standard'];
    const names = compileSchema([target]).entities[0]!.key.parts.map(({ name }) => name);
    const wrong = entities(target).chain((entity) =>
      fc
        .tuple(fc.constantFrom(...new Set([...Object.keys(entity), ...names, 'other'])), junk)
        .map(([name, value]) => ({ name, entity: { ...(entity as Properties), [name]: value } })),
    );
    await fc.assert(
      fc.asyncProperty(wrong, async ({ name, entity }) => {
        const result = await schema.validate(entity);
        const error = await insertError(target, entity);
        if (result.issues === undefined) {
          expect(error).toBeUndefined();
          expect(await insertError(target, result.value)).toBeUndefined();
          return;
        }
        refused++;
        expect(error).toBeDefined();
        expect(result.issues.length).toBeGreaterThan(0);
        for (const { path, message } of result.issues) {
          expect(path[0]).toBe(name);
          expect(message).not.toBe('');
        }
      }),
      { numRuns },
    );
  }
  expect(refused).toBeGreaterThan(classes.length);
});

it('has a JSON Schema, which takes what toPlain gives, and coerces that to what it was', async () => {
  for (const target of classes) {
    const validator = inputSchema(target, { coerce: true });
    const { mapper } = compileSchema([target]).entities[0]!;
    const json = z.fromJSONSchema(validator.toJSONSchema() as never);
    await fc.assert(
      fc.asyncProperty(entities(target), async (entity) => {
        const plain = mapper.toPlain(entity as Properties);
        const sent = JSON.parse(JSON.stringify(plain)) as Properties;
        // Infinite numbers have no JSON, and years of six digits no "date-time".
        if (!/Infinity|"[+-]\d{6}-\d\d-/.test(JSON.stringify(sent))) {
          expect(json.safeParse(sent).error).toBeUndefined();
          expect(mapper.toPlain((await validator.parse(sent)) as Properties)).toEqual(plain);
        }
      }),
      { numRuns },
    );
  }
});

it('accepts patches of some columns, and no part of the key', async () => {
  for (const target of classes) {
    const names = new Set(compileSchema([target]).entities[0]!.key.parts.map(({ name }) => name));
    const { validate } = patchSchema(target)['~standard'];
    await fc.assert(
      fc.asyncProperty(entities(target), fc.nat(), async (entity, at) => {
        const columns = Object.entries(entity as Properties).filter(([name]) => !names.has(name));
        const [name, value] = columns[at % columns.length]!;
        expect((await validate({ [name]: value })).issues).toBeUndefined();
        const [part] = names;
        const issues = (await validate({ [name]: value, [part!]: (entity as Properties)[part!] })).issues;
        expect(issues?.map(({ path }) => path)).toEqual([[part]]);
      }),
      { numRuns },
    );
  }
});
