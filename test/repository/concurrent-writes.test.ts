/** Programs that do several things at once to one entity: what comes out is what some order of them comes to. */

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  AfterDelete,
  BeforePut,
  BeforeUpdate,
  Column,
  Counter,
  Entity,
  part,
  RowKey,
  recordType,
  Table,
  UpdatedAt,
  Version,
} from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Repository } from '../../src/repository/index.js';
import { scaled } from '../proof/scale.js';
import { onBigtable, onServer, openTestDatabase, type TestDatabase } from '../query/test-database.js';

@Table({ name: 'concurrent_writes', families: { d: {}, e: {} } })
class Things {}

@RowKey(part('type'), recordType(), part('id'))
abstract class Thing {
  declare static readonly key: ['type', 'id'];
  type!: string;
  id!: string;
  @Column('d:a', text) a?: string | null;
  @Column('e:b', text) b?: string | null;
  @Counter('e:n') n?: bigint | null;
}

@Entity({ table: Things, recordType: 1 })
class Plain extends Thing {}

@Entity({ table: Things, recordType: 2 })
class Versioned extends Thing {
  @Version('d:v') version?: number;
}

@Entity({ table: Things, recordType: 3 })
class Hooked extends Thing {
  @Version('d:v') version?: number;
  @BeforePut() async put(): Promise<void> {
    await null;
  }
  @BeforeUpdate() async update(): Promise<void> {
    await null;
  }
  @AfterDelete() async deleted(): Promise<void> {}
}

@Entity({ table: Things, recordType: 4, ttl: 3_600_000 })
class Ending extends Thing {}

@Entity({ table: Things, recordType: 5, ttl: 3_600_000, renewTtl: true })
class Renewed extends Thing {
  @Version('d:v') version?: number;
}

@Entity({ table: Things, recordType: 6 })
class Stamped extends Thing {
  @Version('d:v') version?: number;
  @UpdatedAt('d:u') updated?: Date;
}

const CLASSES = { Plain, Versioned, Hooked, Ending, Renewed, Stamped } as const;
type Name = keyof typeof CLASSES;

interface State {
  readonly a: string | undefined;
  readonly b: string | undefined;
  readonly n: bigint | undefined;
  readonly version: number | undefined;
}

/** A value, null, or nothing said. */
const said = fc.constantFrom('value', 'null', 'nothing');
const operation = fc.record({
  kind: fc.constantFrom(
    'put',
    'insert',
    'replace',
    'update',
    'delete',
    'increment',
    'check',
    'checkPut',
    'checkDelete',
    'many',
    'upsert',
    'touch',
    'deleteMany',
    'deleteAll',
    'updateAll',
    // Bigtable has no change that sets and adds at once.
    ...(onBigtable ? [] : ['mutate', 'checkMutate', 'append']),
    ...(onServer ? [] : ['atomic']),
  ),
  a: said,
  b: said,
});
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;
/** Operations that run at once, and after them others. */
const program = fc.array(fc.array(operation, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 });
/** Bigtable has no lives of single cells. */
const NAMES = (Object.keys(CLASSES) as Name[]).filter((name) => !onBigtable || !/Ending|Renewed/.test(name));
/** Cases of a moment each. */
const CASES = NAMES.flatMap((name) => [1, 2, 3, 4, 5, 6, 7, 8].map((of) => ({ name, of })));

interface Values {
  a?: string | null;
  b?: string | null;
}

/** What an operation says of a and b, with values that tell who wrote them. */
function valuesOf({ a, b }: Operation, mark: string): Values {
  const values: Values = {};
  if (a !== 'nothing') values.a = a === 'null' ? null : `a${mark}`;
  values.b = b === 'null' ? null : `b${mark}`;
  return values;
}

const EMPTY: State = { a: undefined, b: undefined, n: undefined, version: undefined };

/** What an operation, alone, makes of a state: its outcome and the state behind it. */
class Model {
  constructor(
    private readonly locked: boolean,
    /** What was read before the operations of a phase began. */
    private readonly known: State | undefined,
    private readonly stamped: boolean,
  ) {}

  run(op: Operation, mark: string, state: State | undefined): { outcome: string; state: State | undefined } {
    const values = valuesOf(op, mark);
    const holds = !this.locked || state?.version === this.known?.version;
    const isKnown = state !== undefined && state.a === this.known?.a;
    const refused = (outcome: string) => ({ outcome, state });
    const written = (base: State | undefined) => ({
      outcome: 'ok',
      state: this.with(base ?? EMPTY, values, state?.version),
    });
    switch (op.kind) {
      case 'put':
      case 'many':
        return holds ? written(state) : refused('ERR_CONFLICT');
      case 'insert':
        return state === undefined ? written(undefined) : refused('ERR_CONFLICT');
      case 'replace':
        return holds ? written(undefined) : refused('ERR_CONFLICT');
      case 'update':
        return state === undefined ? refused('ERR_NOT_FOUND') : written(state);
      case 'upsert':
        return { ...written(state), outcome: state === undefined ? 'inserted' : 'updated' };
      case 'touch':
        if (!this.stamped) return refused('ERR_UNSUPPORTED');
        return state === undefined
          ? refused('ERR_NOT_FOUND')
          : { outcome: 'ok', state: this.with(state, {}, state.version) };
      case 'delete':
      case 'deleteMany':
        return { outcome: 'ok', state: undefined };
      case 'increment': {
        const n = (state?.n ?? 0n) + 1n;
        return { outcome: String(n), state: { ...(state ?? EMPTY), n } };
      }
      case 'append': {
        const a = `${state?.a ?? ''}+${mark}`;
        return { outcome: a, state: { ...(state ?? EMPTY), a } };
      }
      case 'mutate':
        return { outcome: 'ok', state: this.mutated(state ?? EMPTY, values) };
      case 'check':
        return isKnown ? written(state) : refused('no');
      case 'checkPut':
        return isKnown && holds ? written(state) : refused('no');
      case 'checkMutate':
        return isKnown ? { outcome: 'ok', state: this.mutated(state, values) } : refused('no');
      case 'checkDelete':
        return isKnown ? { outcome: 'ok', state: undefined } : refused('no');
      case 'deleteAll':
        return isKnown ? { outcome: '1', state: undefined } : refused('0');
      case 'updateAll':
        return isKnown ? { ...written(state), outcome: '1' } : refused('0');
      default: {
        // insert, update and delete of it in one step, which leaves nothing, then a put
        if (state !== undefined) return refused('ERR_CONFLICT');
        const inserted = this.with(EMPTY, values, undefined);
        return { outcome: 'ok', state: this.with(inserted, { b: `c${mark}` }, inserted.version) };
      }
    }
  }

  /** Sets values and adds to the counter, without a new version. */
  private mutated(base: State, values: Values): State {
    return { ...this.with(base, values, undefined), n: (base.n ?? 0n) + 1n, version: base.version };
  }

  private with(base: State, values: Values, version: number | undefined): State {
    return {
      a: values.a === undefined ? base.a : (values.a ?? undefined),
      b: values.b === undefined ? base.b : (values.b ?? undefined),
      n: base.n,
      version: this.locked ? (version ?? 0) + 1 : undefined,
    };
  }
}

function* orders(count: number, taken: readonly number[] = []): Generator<readonly number[]> {
  if (taken.length === count) yield taken;
  for (let i = 0; i < count; i++) if (!taken.includes(i)) yield* orders(count, [...taken, i]);
}

describe('several writes at once', () => {
  let database: TestDatabase;
  let runs = 0;

  beforeAll(async () => {
    database = await openTestDatabase(Object.values(CLASSES));
  });
  afterAll(() => database.dispose());

  test.each(CASES)('come out as some order of them: $name, $of of 8', async ({ name }) => {
    await fc.assert(
      fc.asyncProperty(program, async (phases) => {
        const things = database.repository(CLASSES[name] as typeof Versioned);
        const key = { type: name, id: `${process.pid}-${runs++}` };
        const locked = name !== 'Plain' && name !== 'Ending';
        let state: State | undefined;
        for (const [phase, operations] of phases.entries()) {
          const known = state;
          const outcomes = await Promise.all(
            operations.map((op, index) => run(things, key, op, `${phase}.${index}`, locked, known)),
          );
          const found = await things.get(key);
          const after = found === null ? undefined : stateOf(found);
          const model = new Model(locked, known, name === 'Stamped');
          const explained = [...orders(operations.length)].some((order) => {
            let now = known;
            const agreed = order.every((index) => {
              const next = model.run(operations[index]!, `${phase}.${index}`, now);
              now = next.state;
              return next.outcome === outcomes[index];
            });
            return agreed && same(now, after);
          });
          expect(explained, describeRun(operations, outcomes, known, after)).toBe(true);
          state = after;
        }
      }),
      { numRuns: onServer ? scaled(10, 25, 500) : scaled(5, 150, 5000) },
    );
  });
});

/** Runs one operation; its outcome as a text. */
async function run(
  things: Repository<typeof Versioned>,
  key: { type: string; id: string },
  op: Operation,
  mark: string,
  locked: boolean,
  known: State | undefined,
): Promise<string> {
  const values = valuesOf(op, mark);
  const entity = { ...key, ...values, ...(locked ? { version: known?.version } : {}) } as never;
  const fresh = { ...key, ...values } as never;
  const unchanged = { a: known?.a ?? null };
  try {
    switch (op.kind) {
      case 'put':
        await things.put(entity);
        return 'ok';
      case 'many':
        await things.putMany([entity]);
        return 'ok';
      case 'insert':
        await things.insert(fresh);
        return 'ok';
      case 'replace':
        await things.replace(entity);
        return 'ok';
      case 'update':
        await things.update(key, values);
        return 'ok';
      case 'upsert':
        return await things.upsert(fresh, values);
      case 'touch':
        await things.touch(key);
        return 'ok';
      case 'delete':
        await things.delete(key);
        return 'ok';
      case 'deleteMany':
        await things.deleteMany([key]);
        return 'ok';
      case 'deleteAll':
        return String((await things.find(key).where(unchanged).deleteAll()).changed);
      case 'updateAll':
        return String((await things.find(key).where(unchanged).updateAll(values)).changed);
      case 'append':
        return (await things.append(key, { a: `+${mark}` })).a ?? '';
      case 'mutate':
        await things.mutate(key, (row) => row.set(values).increment({ n: 1n }));
        return 'ok';
      case 'increment':
        return String((await things.increment(key, { n: 1n })).n);
      case 'check':
        return (await things.check(key, unchanged).update(values)).ok ? 'ok' : 'no';
      case 'checkPut':
        return (await things.check(key, unchanged).put(entity)).ok ? 'ok' : 'no';
      case 'checkMutate': {
        const { ok } = await things
          .check(key, unchanged)
          .mutate((row) => row.set(values).increment({ n: 1n }));
        return ok ? 'ok' : 'no';
      }
      case 'checkDelete':
        return (await things.check(key, unchanged).delete()).ok ? 'ok' : 'no';
      default:
        await things.batch((batch) => batch.insert(fresh).update(key, { b: `c${mark}` }), { atomic: true });
        return 'ok';
    }
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

/** Entities without `@Version` have no such property. */
function stateOf(found: Versioned): State {
  return {
    a: found.a ?? undefined,
    b: found.b ?? undefined,
    n: found.n ?? undefined,
    version: found.version ?? undefined,
  };
}

function same(a: State | undefined, b: State | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.a === b.a && a.b === b.b && a.n === b.n && a.version === b.version;
}

function describeRun(
  operations: readonly Operation[],
  outcomes: readonly string[],
  before: State | undefined,
  after: State | undefined,
): string {
  const show = (state: State | undefined): string =>
    JSON.stringify(state ?? null, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
  const lines = operations.map((op, index) => `${op.kind} a=${op.a} b=${op.b} -> ${outcomes[index]}`);
  return `${show(before)}\n${lines.join('\n')}\n${show(after)}`;
}
