/** Random operations, and how they are asked of a database. */

import { expect } from 'vitest';
import type { OpenOptions } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import type { Transaction } from '../../src/features/transactions/handle.js';
import type { BatchBuilder } from '../../src/repository/batch.js';
import type { Repository } from '../../src/repository/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import type { Random } from '../query/model/random.js';
import { DAY, type Declared, type Values } from './declare.js';
import type { Model, Operation, Outcome } from './model.js';

type Repo = Repository<KeyedClass>;

const KINDS: readonly Operation['kind'][] = [
  'put',
  'put',
  'insert',
  'replace',
  'update',
  'update',
  'upsert',
  'delete',
  'checkPut',
  'checkUpdate',
  'checkDelete',
  'mutate',
  'append',
];

const LETTERS = ['', 'x', 'y', 'zz'];

/** Draws what a write says: each property is left alone, deleted, or given a value. */
export function drawValues(
  random: Random,
  { features, window }: Declared,
  key: Values,
  patch: boolean,
): Values {
  const values: Values = {};
  const say = (name: string, make: () => unknown, nullable = true): void => {
    const drawn = random.below(5);
    if (drawn === 0 && nullable) values[name] = null;
    else if (drawn > 1) values[name] = make();
  };
  values['a'] = random.chance(0.2) ? null : random.pick(LETTERS);
  say('q', () => random.below(3) - 1);
  say('state', () => random.pick(['open', 'shut']));
  say('away', () => random.pick(LETTERS));
  if (features.has('maps')) {
    say(
      'map',
      () => new Map([[random.pick(['s', 't', '']), random.chance(0.3) ? null : random.below(9)]]),
      false,
    );
  }
  if (window !== undefined) {
    const start = (key[window] as Date).getTime();
    const offset = random.pick([0, 1, DAY - 1]);
    say('points', () => new Map([[start + offset, random.chance(0.3) ? null : random.below(9)]]), false);
  }
  if (features.has('versions')) say('past', () => [random.pick(LETTERS)]);
  if (features.has('embedded')) {
    say('inner', () => ({
      ...(random.chance(0.6) ? { x: random.chance(0.3) ? null : random.pick(LETTERS) } : {}),
      ...(random.chance(0.6) ? { y: random.chance(0.3) ? null : random.below(3) } : {}),
    }));
  }
  if (features.has('json')) say('json', () => random.pick<unknown>([{ p: [1, 'x', null] }, 'text', 7, [{}]]));
  if (features.has('avro')) say('line', () => ({ s: random.pick(LETTERS), n: random.below(5) }));
  if (features.has('defaults')) say('given', () => random.pick(LETTERS), false);
  if (features.has('upgrade')) say('size', () => random.pick(LETTERS));
  if (features.has('lists')) say('tags', () => random.some(['s', 't', 's'], 3));
  if (features.has('copies') || features.has('rules')) say('ref', () => random.pick(['r1', 'r2']));
  if (features.has('unique')) say('mail', () => random.pick(['m1', 'm2', 'm3']));
  if (features.has('ownTtl') && random.chance(0.25)) values['ttl'] = 30_000 + random.below(200_000);
  // An embedded object as a whole is deleted by null; a patch says what it changes.
  if (values['inner'] === null && patch) delete values['inner'];
  return values;
}

export function drawOperation(random: Random, declared: Declared, model: Model): Operation {
  const { features } = declared;
  const kinds: Operation['kind'][] = [...KINDS];
  if (features.has('counter')) kinds.push('increment', 'increment');
  if (features.has('softDelete')) kinds.push('delete', 'restore', 'purge');
  if (features.has('copies') || features.has('rules')) kinds.push('source', 'source', 'sourceGone');
  const kind = random.pick(kinds);
  const key = random.pick(declared.keys);
  const stored = model.row(key)?.values;
  const asked = random.chance(0.7) ? stored?.['a'] : 'x';
  if (kind === 'source' || kind === 'sourceGone') {
    const name = kind === 'source' ? random.pick(['one', 'two', 'three']) : undefined;
    return { kind, key, values: { ref: random.pick(['r1', 'r2']), name }, version: undefined, asked };
  }
  const version = random.chance(0.85) ? stored?.['version'] : 7;
  const values = drawValues(random, declared, key, kind === 'update' || kind === 'checkUpdate');
  if (kind === 'append') return { kind, key, values: { a: random.pick(['p', 'q']) }, version, asked };
  if (kind === 'mutate') delete values['ttl'];
  return { kind, key, values, version, asked };
}

/** As a database takes it: a history is a list of objects. */
function given(values: Values): Values {
  const past = values['past'];
  return past === undefined || past === null
    ? { ...values }
    : { ...values, past: (past as string[]).map((value) => ({ value })) };
}

export function entityOf({ key, values, version }: Operation, declared: Declared): Values {
  const known = declared.features.has('version') && version !== undefined ? { version } : {};
  return { ...key, ...given(values), ...known };
}

const patchOf = ({ values }: Operation): Values => ({ a: null, ...given(values) });

/** Where operations are asked: the repositories of a database or a transaction. */
interface Asked {
  readonly main: Repo;
  readonly source: Repo | undefined;
}

export function repositoriesOf(
  from: { repository(target: KeyedClass): unknown } | Transaction,
  declared: Declared,
): Asked {
  const of = (target: KeyedClass): Repo =>
    (from as { repository(target: KeyedClass): Repo }).repository(target);
  return { main: of(declared.main), source: declared.source && of(declared.source) };
}

export async function perform(operation: Operation, declared: Declared, asked: Asked): Promise<Outcome> {
  try {
    const outcome = await performed(operation, declared, asked);
    return typeof outcome === 'string' ? outcome : 'ok';
  } catch (error) {
    if (error instanceof RowanError) return error.code;
    throw error;
  }
}

/** Answers the outcome where it is more than that it was done. */
async function performed(
  operation: Operation,
  declared: Declared,
  { main, source }: Asked,
): Promise<unknown> {
  const key = operation.key as never;
  const entity = entityOf(operation, declared) as never;
  const fresh = { ...operation.key, ...given(operation.values) } as never;
  const patch = patchOf(operation) as never;
  const condition = { a: operation.asked ?? null } as never;
  switch (operation.kind) {
    case 'put':
      return main.put(entity);
    case 'insert':
      return main.insert(fresh);
    case 'replace':
      return main.replace(entity);
    case 'update':
      return main.update(key, patch);
    case 'upsert':
      return main.upsert(fresh, { a: operation.values['a'] ?? null } as never);
    case 'delete':
      return main.delete(key);
    case 'restore':
      return main.restore(key);
    case 'purge':
      return main.purge(key);
    case 'checkPut':
      return (await main.check(key, condition).put(entity)).ok ? 'ok' : 'unmet';
    case 'checkUpdate':
      return (await main.check(key, condition).update(patch)).ok ? 'ok' : 'unmet';
    case 'checkDelete':
      return (await main.check(key, condition).delete()).ok ? 'ok' : 'unmet';
    case 'mutate':
      return main.mutate(key, (row) => row.set(patch));
    case 'increment':
      await main.increment(key, { n: 2 } as never);
      return;
    case 'append':
      await main.append(key, { a: operation.values['a'] } as never);
      return;
    case 'source':
      return source!.put({ id: operation.values['ref'], name: operation.values['name'] } as never);
    case 'sourceGone':
      return source!.delete({ id: operation.values['ref'] } as never);
  }
}

/** The kinds that a batch of one entity takes. */
export const BATCHED: ReadonlySet<Operation['kind']> = new Set([
  'put',
  'insert',
  'replace',
  'update',
  'delete',
  'mutate',
]);

export function addTo(batch: BatchBuilder<KeyedClass>, operation: Operation, declared: Declared): void {
  const key = operation.key as never;
  const entity = entityOf(operation, declared) as never;
  const patch = patchOf(operation) as never;
  switch (operation.kind) {
    case 'put':
      batch.put(entity);
      break;
    case 'insert':
      batch.insert({ ...operation.key, ...given(operation.values) } as never);
      break;
    case 'replace':
      batch.replace(entity);
      break;
    case 'update':
      batch.update(key, patch);
      break;
    case 'mutate':
      batch.mutate(key, (row) => row.set(patch));
      break;
    default:
      batch.delete(key);
  }
}

const key = (id: string): Buffer => Buffer.alloc(32, id);

/** Small memory, so that files are written and merged and rows evicted by themselves; and encryption, with keys that change. */
export function drawSettings(random: Random): Partial<OpenOptions> {
  return {
    ...(random.chance(0.5) && { memstoreFlushSize: random.pick([1, 2000, 20_000]) }),
    ...(random.chance(0.5) && { blockCacheSize: random.pick([0, 1000, 10_000]) }),
    ...(random.chance(0.3) && { walSegmentSize: random.pick([1, 3000]) }),
    ...(random.chance(0.3) && { maxOpenFiles: 1 }),
    encryption: { keyId: random.pick(['a', 'b', null]), key, acceptPlain: true } as never,
  };
}

/** Where two refusals hold, the engine decides which comes first: those that may stand in for each other. */
const REFUSED: readonly (readonly Outcome[])[] = [
  ['ERR_CONFLICT', 'ERR_KEY'],
  ['ERR_CONFLICT', 'ERR_REFERENCE'],
];

/** Compares what came of an operation on a server with what the model says. */
export function expectOutcome(found: Outcome, meant: Outcome): void {
  const isOther = REFUSED.some((pair) => pair.includes(found) && pair.includes(meant));
  expect(isOther ? meant : found).toBe(meant);
}

/** Of two writes of one millisecond a history has one version or two: what came between decides. */
export function withoutHistory(operation: Operation): Operation {
  const { past: _, ...values } = operation.values;
  return { ...operation, values };
}
