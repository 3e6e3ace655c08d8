/** A table's descriptor with the steps of a plan done to it. */

import {
  type FamilyDescriptor,
  type FamilyOptions,
  type TableDescriptor,
  type TableOptions,
  tableDescriptor,
} from '../../table/index.js';
import type { SchemaStep } from './types.js';

/**
 * The descriptor that the steps lead to. Steps that are not of a descriptor (splits, compactions) change nothing.
 * @throws SchemaError where only some of the steps were taken that need each other (versions and minVersions).
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
