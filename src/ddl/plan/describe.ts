/** Plans as text, for people. */

import { type Allowance, admit } from './admission.js';
import type { SchemaPlan, SchemaStep } from './types.js';

/** The plan as `rowan schema plan` prints it: a line for each step, and one that says why. */
export function describePlan(plan: SchemaPlan, allow: readonly Allowance[] = []): string {
  const { steps, unmanaged, contradictions, checksum } = plan;
  const held = new Set(admit(plan, allow).held);
  const lines: string[] = [];
  if (steps.length === 0 && contradictions.length === 0) lines.push('Everything is as declared.');
  for (const step of steps) {
    lines.push(`${held.has(step) ? '-' : '+'} ${step.id}  [${step.class}]`);
    const change = describeChange(step);
    if (change !== '') lines.push(`    ${change}`);
    lines.push(`    ${step.why}`);
    if (held.has(step) && step.class !== 'manual') lines.push(`    Waits for --allow ${allowanceOf(step)}`);
  }
  for (const { table, message } of contradictions) lines.push(`! ${table}: ${message}`);
  if (unmanaged.length > 0) lines.push('Not declared, and left as it is:');
  for (const { table, family, name, value } of unmanaged) {
    lines.push(`    ${table}${family === undefined ? '' : `/${family}`} ${name} ${value}`.trimEnd());
  }
  if (steps.length > 0 || contradictions.length > 0) lines.push(`plan ${checksum}`);
  return `${lines.join('\n')}\n`;
}

/** What lets a step be applied. */
export function allowanceOf(step: SchemaStep): string {
  return step.class === 'data-loss' ? `data-loss:${step.id}` : step.class;
}

/** "3 -> 5", of options; empty for steps that say it by their id. */
export function describeChange({ kind, from, to }: SchemaStep): string {
  return kind === 'set' ? `${printed(from)} -> ${printed(to)}` : '';
}

function printed(value: unknown): string {
  return value === undefined ? '(not set)' : String(value);
}
