import { createHash } from 'node:crypto';
import type { AvroRegistry } from '../../codec/index.js';
import { avroColumns } from '../../schema/index.js';
import type { EntitySchema, TableSchema } from '../../schema/types.js';
import {
  DEFAULT_NAMESPACE,
  type FamilyDescriptor,
  type FamilyOptions,
  parseTableName,
  type TableDescriptor,
  type TableOptions,
  tableDescriptor,
} from '../../table/index.js';
import { INDEX_DDL } from '../feature-ddl.js';
import { stampProblems } from '../table-stamp.js';
import { alterSteps, createStep, undeclaredRecords, undeclaredSettings } from './table-steps.js';
import type {
  Contradiction,
  PlanOptions,
  SchemaPlan,
  SchemaState,
  SchemaStep,
  UnmanagedSetting,
} from './types.js';

/** Compares declared tables with the existing ones and plans the steps between them. */

/** Plans the steps. Tables that are not declared are ignored. */
export function planSchema(
  declared: readonly TableSchema[],
  state: SchemaState,
  subjects: readonly SubjectState[] = [],
  options: PlanOptions = {},
): SchemaPlan {
  const before: SchemaStep[] = [];
  const after: SchemaStep[] = [];
  const indexes: SchemaStep[] = [];
  const unmanaged: UnmanagedSetting[] = [];
  const contradictions: Contradiction[] = [];
  before.push(...namespaceSteps(declared, state));
  for (const table of declared) {
    const live = state.tables.get(table.descriptor.name);
    if (state.indexes !== undefined && INDEX_DDL !== undefined)
      indexes.push(...INDEX_DDL.steps(table, state.indexes.get(table.descriptor.name) ?? new Map(), state));
    if (live === undefined) {
      before.push(createStep(table, state));
      continue;
    }
    const { name } = table.descriptor;
    contradictions.push(
      ...stampProblems(table, live.descriptor).map((message) => ({ table: name, message })),
    );
    for (const step of alterSteps(table, live, options, state)) (isSlow(step) ? after : before).push(step);
    if (options.prune !== true) unmanaged.push(...undeclaredSettings(table, live.descriptor));
    unmanaged.push(...undeclaredRecords(table, live.descriptor));
  }
  for (const { subject, table, isNew, problems } of subjects) {
    contradictions.push(...problems.map((message) => ({ table, message })));
    if (isNew) before.push(registerStep(subject, table));
  }
  const steps = [...before, ...after.filter(isSplit), ...after.filter((step) => !isSplit(step)), ...indexes];
  return { steps, unmanaged, contradictions, checksum: checksumOf(steps, contradictions) };
}

const SLOW: ReadonlySet<SchemaStep['kind']> = new Set([
  'split',
  'compact',
  'move-columns',
  'upgrade-rows',
  'drop-column',
  'retire',
]);

function isSlow({ kind }: SchemaStep): boolean {
  return SLOW.has(kind);
}

function isSplit({ kind }: SchemaStep): boolean {
  return kind === 'split';
}

function namespaceSteps(
  declared: readonly TableSchema[],
  { namespaces, recorded }: SchemaState,
): SchemaStep[] {
  const wanted = new Set(declared.map(({ descriptor }) => parseTableName(descriptor.name).namespace));
  wanted.delete(DEFAULT_NAMESPACE);
  return [...wanted]
    .filter((name) => !namespaces.has(name))
    .sort()
    .map((name) => ({
      id: `create-namespace:${name}`,
      kind: 'create-namespace',
      class: 'online',
      why: recorded === true ? 'The namespace is newly declared.' : 'The namespace does not exist.',
      table: name,
    }));
}

function registerStep(subject: string, table: string): SchemaStep {
  return {
    id: `register-schema:${subject}`,
    kind: 'register-schema',
    class: 'online',
    why: 'The column has a new Avro schema, which is registered before it is used.',
    table,
    option: subject,
  };
}

/** JSON text that does not depend on the order of object keys. */
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

/** The state of one Avro column. */
export interface SubjectState {
  readonly subject: string;
  readonly table: string;
  /** Whether the schema is not yet registered for the column. */
  readonly isNew: boolean;
  /** Reasons for which the column's compatibility level forbids the schema. */
  readonly problems: readonly string[];
}

/** Compares a program's Avro schemas with those that its columns were written with. */
export async function subjectStates(
  registry: AvroRegistry,
  entities: readonly EntitySchema[],
): Promise<SubjectState[]> {
  const states: SubjectState[] = [];
  for (const entity of entities) {
    for (const { subject, codec } of avroColumns(entity)) {
      const problems = await registry.problems(subject, codec.schema, codec.compatibility);
      states.push({
        subject,
        table: entity.table.descriptor.name,
        isNew: !(await registry.has(subject, codec.schema)),
        problems: problems.map(
          ({ direction, fingerprint, path, message }) =>
            `${subject} (${codec.compatibility}): ${direction} to ${fingerprint} at ${path}: ${message}`,
        ),
      });
    }
  }
  return states;
}

/**
 * Applies the steps of a plan to a table's descriptor. Steps that do not concern the descriptor (splits, compactions)
 * have no effect.
 * @throws SchemaError when some steps are missing that others need (versions and minVersions).
 */
export function changedDescriptor(live: TableDescriptor, steps: readonly SchemaStep[]): TableDescriptor {
  let families: FamilyDescriptor[] = [...live.families];
  let table: TableDescriptor = live;
  for (const step of steps) {
    const { kind, family } = step;
    if (kind === 'add-family') families.push(step.to as FamilyDescriptor);
    else if (kind === 'drop-family') families = families.filter(({ name }) => name !== family);
    else if (kind === 'stamp') table = withOption(table, `metadata.${step.option}`, step.to);
    else if (kind !== 'set') continue;
    else if (family === undefined) table = withOption(table, step.option!, step.to);
    else
      families = families.map((each) =>
        each.name === family ? withOption(each, step.option!, step.to) : each,
      );
  }
  const { name, families: _, ...options } = table;
  return tableDescriptor(
    name,
    families as readonly (FamilyDescriptor & FamilyOptions)[],
    options as TableOptions,
  );
}

type Settings = Pick<TableDescriptor, 'configuration' | 'metadata'>;

function withOption<T extends Settings>(of: T, option: string, value: unknown): T {
  const [kind, ...rest] = option.split('.');
  if (kind !== 'configuration' && kind !== 'metadata') return { ...of, [option]: value };
  const entries: Record<string, string> = { ...of[kind] };
  const name = rest.join('.');
  if (value === undefined) delete entries[name];
  else entries[name] = String(value);
  return { ...of, [kind]: entries };
}
