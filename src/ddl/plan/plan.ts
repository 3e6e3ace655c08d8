/** Declared tables against the tables as they are: the steps between them. */

import { createHash } from 'node:crypto';
import type { TableSchema } from '../../schema/types.js';
import { DEFAULT_NAMESPACE, parseTableName } from '../../table/index.js';
import { stampProblems } from '../table-stamp.js';
import type { SubjectState } from './avro.js';
import { indexSteps } from './index-steps.js';
import { alterSteps, createStep, undeclaredRecords, undeclaredSettings } from './table-steps.js';
import type {
  Contradiction,
  PlanOptions,
  SchemaPlan,
  SchemaState,
  SchemaStep,
  UnmanagedSetting,
} from './types.js';

/** Tables that are not declared are left out of account. */
export function planSchema(
  declared: readonly TableSchema[],
  state: SchemaState,
  subjects: readonly SubjectState[] = [],
  options: PlanOptions = {},
): SchemaPlan {
  const before: SchemaStep[] = [];
  const behind: SchemaStep[] = [];
  const indexes: SchemaStep[] = [];
  const unmanaged: UnmanagedSetting[] = [];
  const contradictions: Contradiction[] = [];
  before.push(...namespaceSteps(declared, state));
  for (const table of declared) {
    const live = state.tables.get(table.descriptor.name);
    if (state.indexes !== undefined)
      indexes.push(...indexSteps(table, state.indexes.get(table.descriptor.name) ?? new Map()));
    if (live === undefined) {
      before.push(createStep(table));
      continue;
    }
    const { name } = table.descriptor;
    contradictions.push(
      ...stampProblems(table, live.descriptor).map((message) => ({ table: name, message })),
    );
    for (const step of alterSteps(table, live, options)) (isSlow(step) ? behind : before).push(step);
    if (options.prune !== true) unmanaged.push(...undeclaredSettings(table, live.descriptor));
    unmanaged.push(...undeclaredRecords(table, live.descriptor));
  }
  for (const { subject, table, isNew, problems } of subjects) {
    contradictions.push(...problems.map((message) => ({ table, message })));
    if (isNew) before.push(registerStep(subject, table));
  }
  const steps = [
    ...before,
    ...behind.filter(isSplit),
    ...behind.filter((step) => !isSplit(step)),
    ...indexes,
  ];
  return { steps, unmanaged, contradictions, checksum: checksumOf(steps, contradictions) };
}

const SLOW: ReadonlySet<SchemaStep['kind']> = new Set([
  'split',
  'compact',
  'move-columns',
  'upgrade-rows',
  'retire',
]);

function isSlow({ kind }: SchemaStep): boolean {
  return SLOW.has(kind);
}

function isSplit({ kind }: SchemaStep): boolean {
  return kind === 'split';
}

function namespaceSteps(declared: readonly TableSchema[], { namespaces }: SchemaState): SchemaStep[] {
  const wanted = new Set(declared.map(({ descriptor }) => parseTableName(descriptor.name).namespace));
  wanted.delete(DEFAULT_NAMESPACE);
  return [...wanted]
    .filter((name) => !namespaces.has(name))
    .sort()
    .map((name) => ({
      id: `create-namespace:${name}`,
      kind: 'create-namespace',
      class: 'online',
      why: 'The namespace is not there.',
      table: name,
    }));
}

function registerStep(subject: string, table: string): SchemaStep {
  return {
    id: `register-schema:${subject}`,
    kind: 'register-schema',
    class: 'online',
    why: 'The column is to be written with an Avro schema that it was not written with before.',
    table,
    option: subject,
  };
}

/** A text that is the same whatever the order in which the keys of objects were made. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function checksumOf(steps: readonly SchemaStep[], contradictions: readonly Contradiction[]): string {
  return shortHash(canonicalJson({ steps: steps.map(({ why, ...rest }) => rest), contradictions }));
}
