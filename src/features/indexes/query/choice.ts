import { KeyError, QueryError } from '../../../errors.js';
import type { KeyConditions, KeyPlan, PartCondition } from '../../../key/types.js';
import {
  type Condition,
  conjuncts,
  describeCondition,
  impliesPresence,
  keyPartAsCondition,
  type Test,
} from '../../../query/condition.js';
import { withAlike } from '../../../query/key-conditions.js';
import { isOrdered } from '../../../query/pushdown.js';
import type { OtherPath, QuerySpec } from '../../../query/query-spec.js';
import { type EntitySchema, ROW_PART } from '../../../schema/types.js';
import type { EntityIndex } from '../entity-indexes.js';
import type { IndexAccess, IndexUse } from './access.js';
import { planIndex, sameCodec } from './plan.js';

interface Candidate {
  readonly index: EntityIndex;
  readonly key: KeyConditions;
  readonly served: ReadonlySet<Condition>;
  readonly equal: number;
  readonly ranged: boolean;
  readonly covered: boolean;
  readonly ranges: number;
  /** Whether all entries in the range have equal values. */
  readonly isOneValue: boolean;
  /** Whether the entries are in the order of their rows' bytes: behind values that are equal come those that the key has. */
  readonly isInOrderOfRows: boolean;
}

/**
 * Chooses the index that leaves the least to read, from the conditions on the key and those of `where` together.
 * `keyPlan`: what the key would read. If that is less than the whole table, an index is chosen only if it reads no
 * more and keeps the order of rows.
 */
export function chooseIndex(
  spec: QuerySpec,
  access: IndexAccess,
  keyPlan: KeyPlan,
): { readonly use: IndexUse | undefined; readonly others: readonly OtherPath[] } {
  if (spec.timeRange !== undefined) return { use: undefined, others: [] };
  const conditions = [
    ...Object.entries(spec.key).flatMap(([part, asked]) => conjuncts(keyPartAsCondition(part, asked))),
    ...spec.where.flatMap(conjuncts),
  ];
  const others: OtherPath[] = [];
  const candidates: Candidate[] = [];
  for (const index of access.indexes.all) {
    const { name } = index.index;
    const found = candidateOf(spec, index, conditions, access);
    const why = typeof found === 'string' ? found : whyKey(spec, found, keyPlan);
    if (why !== undefined) others.push({ name, why });
    else candidates.push(found as Candidate);
  }
  candidates.sort(
    (a, b) =>
      b.equal - a.equal ||
      Number(b.ranged) - Number(a.ranged) ||
      Number(b.index.index.unique) - Number(a.index.index.unique) ||
      Number(b.covered) - Number(a.covered) ||
      a.ranges - b.ranges,
  );
  const [best, ...rest] = candidates;
  if (best === undefined) return { use: undefined, others };
  for (const one of rest) others.push({ name: one.index.index.name, why: costOf(one) });
  const { index, key, served } = best;
  return { use: { path: index, key, served, why: costOf(best), others }, others };
}

/** Why the key is read and not the index. Undefined where the index is better, or the only way. */
function whyKey(spec: QuerySpec, candidate: Candidate, { kind, order }: KeyPlan): string | undefined {
  if (kind === 'full') return undefined;
  if (kind === 'point' || kind === 'points') return 'is not needed: the key says which rows';
  const { key } = candidate;
  const { index } = candidate.index;
  const by = `ask by("${index.name}")`;
  const beyond = Object.keys(key).some((part) => spec.key[part] === undefined) || index.where !== undefined;
  if (!beyond) return 'asks for no more than the key does';
  const single = index.unique && candidate.isOneValue;
  const left = Object.keys(spec.key).find((part) => key[part] === undefined);
  if (left !== undefined && !single)
    return `may have more entries to read than the key, for "${left}" is none of its leading parts: ${by}`;
  // The order of rows' bytes is the order of the key only without salts.
  if (order !== 'none' && !single && !(candidate.isInOrderOfRows && order === 'sequence'))
    return `has its rows in another order than the key: ${by}`;
  return undefined;
}

function costOf({ index, key, covered }: Candidate): string {
  const names = Object.keys(key);
  const { parts } = index.index;
  const sparse =
    index.where === undefined ? '' : `holds only rows where ${index.where.texts.join(' and ')}, `;
  return (
    `${sparse}reads the entries of ${names.length === 0 ? 'the whole index' : names.join(', ')}` +
    `${names.length < parts.length ? ` (${parts.length - names.length} of ${parts.length} parts open)` : ''}` +
    `, ${covered ? 'and no row' : 'and looks up a row for each'}`
  );
}

/** The candidate, or why the index cannot serve. */
function candidateOf(
  spec: QuerySpec,
  index: EntityIndex,
  conditions: readonly Condition[],
  access: IndexAccess,
): Candidate | string {
  const state = access.stateOf(index.index);
  if (state !== 'active') return `is ${state ?? 'of unknown state'}`;
  if (index.index.eventual)
    return `is eventual, and may lack what was just written: ask by("${index.index.name}")`;
  if (index.index.several !== undefined) return `has several entries of a row: ask by("${index.index.name}")`;
  const given = new Map(conditions.map((condition) => [describeCondition(condition), condition]));
  const texts = index.where?.texts ?? [];
  const lacks = texts.find((text) => !given.has(text));
  if (lacks !== undefined) return `holds only rows where ${lacks}`;
  const served = new Set(texts.map((text) => given.get(text)!));
  const key: Record<string, PartCondition> = {};
  let equal = texts.length;
  let ranged = false;
  for (const part of index.index.parts) {
    const found = conditionOf(spec, index, part, conditions);
    if (found === undefined || !isPlannable(index, { ...key, [part]: found.asked })) break;
    const { asked } = found;
    key[part] = asked;
    for (const test of found.tests) served.add(test);
    if (asked.kind !== 'eq' && asked.kind !== 'in') {
      ranged = true;
      break;
    }
    equal++;
  }
  if (Object.keys(key).length === 0 && index.where === undefined) {
    return whyNotBegun(spec, index, conditions);
  }
  // A row that lacks a part has no entry, yet may satisfy the query.
  for (const part of index.index.parts) {
    if (!spec.schema.columnsByProperty.has(part) || key[part] !== undefined) continue;
    const present = conditions.filter((one) => impliesPresence(one, part));
    if (present.length === 0) {
      return `has no entries of rows without "${part}", which may exist: add ${part}: { exists: true } to where(), or ask by("${index.index.name}")`;
    }
    for (const one of present) if (one.operator === 'exists') served.add(one);
  }
  const use = { path: index, key, served, why: '', others: [] };
  const { covered, keyPlan } = planIndex({ ...spec, fullScan: true }, use);
  const ranges = keyPlan.ranges.length;
  return {
    index,
    key,
    served,
    equal,
    ranged,
    covered,
    ranges,
    isOneValue: ranges === 1 && index.index.parts.every((part) => key[part]?.kind === 'eq'),
    isInOrderOfRows: ranges === 1 && isInOrderOfRows(spec.schema, index, key),
  };
}

/** Whether the entries of one range are in the order of their rows' bytes. */
function isInOrderOfRows(schema: EntitySchema, { index }: EntityIndex, asked: KeyConditions): boolean {
  const isOne = (part: string): boolean => asked[part]?.kind === 'eq';
  const ofEntries = index.layout.orderingElements((part) => part !== ROW_PART && isOne(part));
  const ofRows = schema.key.orderingElements(isOne);
  const compared = index.unique ? ofEntries : ofEntries.slice(0, -1); // the last is the row itself
  return compared.every((element, i) => element === ofRows[i]);
}

/** Why no range of entries is known: what the conditions ask of the first part is nothing, or nothing that entries decide. */
function whyNotBegun(
  { schema }: QuerySpec,
  { index }: EntityIndex,
  conditions: readonly Condition[],
): string {
  const { codec, name } = index.layout.parts.find((part) => part.name === index.parts[0])!;
  if (!conditions.some((one) => one.kind === 'test' && one.property === name)) {
    return `begins with "${name}", which is not asked for`;
  }
  const column = schema.columnsByProperty.get(name);
  return column === undefined || sameCodec(codec.name, column)
    ? `begins with "${name}", and its entries do not decide what is asked of it`
    : `begins with "${name}" as ${codec.name}, and not as ${column.codec.name}: ask by("${index.name}")`;
}

function isPlannable(index: EntityIndex, key: KeyConditions): boolean {
  try {
    index.index.layout.plan(key);
    return true;
  } catch (error) {
    if (error instanceof KeyError || error instanceof QueryError) return false;
    throw error;
  }
}

/** The condition on one part, as far as the bytes of entries can serve it. */
function conditionOf(
  { schema }: QuerySpec,
  { index }: EntityIndex,
  name: string,
  conditions: readonly Condition[],
): { readonly asked: PartCondition; readonly tests: readonly Test[] } | undefined {
  const tests = conditions.filter(
    (one): one is Test =>
      one.kind === 'test' &&
      one.property === name &&
      !one.negated &&
      one.inside === undefined &&
      one.entry === undefined,
  );
  const column = schema.columnsByProperty.get(name);
  const part = index.layout.parts.find((one) => one.name === name)!;
  if (column !== undefined && !sameCodec(part.codec.name, column)) return undefined;
  const equal = tests.find(({ operator }) => operator === 'eq');
  if (equal !== undefined) {
    return { asked: withAlike(part.codec, { kind: 'eq', value: equal.values[0] }), tests: [equal] };
  }
  const list = tests.find(({ operator }) => operator === 'in');
  if (list !== undefined) {
    return { asked: withAlike(part.codec, { kind: 'in', values: list.values }), tests: [list] };
  }
  if (!part.recoverable || (column !== undefined && column.kind !== 'counter' && !isOrdered(column.codec))) {
    return undefined;
  }
  const prefix = tests.find(({ operator }) => operator === 'startsWith');
  if (prefix !== undefined) {
    return { asked: { kind: 'startsWith', value: prefix.values[0] }, tests: [prefix] };
  }
  const lower = tests.find(({ operator }) => operator === 'gt' || operator === 'gte');
  const upper = tests.find(({ operator }) => operator === 'lt' || operator === 'lte');
  if (lower === undefined && upper === undefined) return undefined;
  const asked: PartCondition = {
    kind: 'range',
    lower: lower && { value: lower.values[0], inclusive: lower.operator === 'gte' },
    upper: upper && { value: upper.values[0], inclusive: upper.operator === 'lte' },
  };
  return { asked, tests: [lower, upper].filter((test) => test !== undefined) };
}
