/** Which steps of a plan may be done: what `--allow` says. */

import { InvalidArgumentError } from '../../errors.js';
import type { SchemaPlan, SchemaStep, StepClass } from './types.js';

/** `meaning`, `offline`, or `data-loss:` and the id of a step. */
export type Allowance = 'meaning' | 'offline' | `data-loss:${string}`;

/** Steps that are done, and those that wait for a word. */
export interface Admission {
  readonly admitted: readonly SchemaStep[];
  readonly held: readonly SchemaStep[];
}

const FREE: ReadonlySet<StepClass> = new Set(['online', 'rewrite']);
const BY_CLASS: ReadonlySet<string> = new Set(['meaning', 'offline']);

/**
 * @throws InvalidArgumentError on an allowance that is none, or that names no step of the plan that loses data: a name
 * mistyped is not to pass for nothing allowed.
 */
export function admit({ steps }: Pick<SchemaPlan, 'steps'>, allowances: readonly Allowance[]): Admission {
  if (!Array.isArray(allowances)) throw unknown(allowances, steps);
  const losses = new Set<string>();
  for (const allowance of allowances as readonly unknown[]) {
    if (typeof allowance === 'string' && BY_CLASS.has(allowance)) continue;
    const id = typeof allowance === 'string' && allowance.startsWith('data-loss:') ? allowance.slice(10) : '';
    if (!steps.some((step) => step.id === id && step.class === 'data-loss')) throw unknown(allowance, steps);
    losses.add(id);
  }
  const isAdmitted = (step: SchemaStep): boolean =>
    FREE.has(step.class) ||
    losses.has(step.id) ||
    (BY_CLASS.has(step.class) && (allowances as readonly string[]).includes(step.class));
  const admitted = steps.filter(isAdmitted);
  // A family is only written anew for what was altered.
  const altered = new Set(
    admitted.filter(({ kind }) => kind === 'set').map(({ table, family }) => `${table}/${family}`),
  );
  const done = admitted.filter(
    ({ kind, table, family }) => kind !== 'compact' || altered.has(`${table}/${family}`),
  );
  return { admitted: done, held: steps.filter((step) => !isAdmitted(step)) };
}

function unknown(allowance: unknown, steps: readonly SchemaStep[]): InvalidArgumentError {
  const losses = steps.filter((step) => step.class === 'data-loss').map(({ id }) => `data-loss:${id}`);
  const known = ['meaning', 'offline', ...losses].join(', ');
  return new InvalidArgumentError(
    `Nothing of this plan can be allowed by ${JSON.stringify(allowance)}. What can be: ${known}.`,
  );
}
