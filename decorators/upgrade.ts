import { describe } from '../src/table/checks.js';
import {
  type ColumnBuilder,
  columnBuilder,
  declareProperties,
  type ObjectOf,
  type PropertyDefinitions,
} from './column-builder.js';
import type { UpgradeDeclaration } from './declaration.js';
import { type AnyClassDecorator, classDecorator } from './modes.js';

/** What `@Upgrade` takes beside the version and the function. */
export interface UpgradeOptions<Old, Sets extends string> {
  /** The columns of that version that the function is given, each as it was declared then. */
  readonly old: (builder: ColumnBuilder<string>) => Old;
  /** The properties of the version behind it that the function gives: one that it does not give is absent. */
  readonly sets: readonly Sets[];
  /** Whether rows that are read by their keys are written as upgraded. Default false: only what writes a row upgrades it. */
  readonly writeBack?: boolean;
}

/** What an upgrade gives: a value for each property that it sets; one that is left out, undefined or null is absent. */
export type Upgraded<Sets extends string> = { readonly [Name in Sets]?: unknown };

/**
 * Says what makes a row of version `from` one of the version behind it (docs/schema.md, "Rows of an older version"). The
 * function must give the same for the same: it runs whenever an older row is read.
 *
 * @example
 * ```ts
 * @Entity({ table: Crm, schemaVersion: 2 })
 * @Upgrade(1, { old: (c) => ({ name: c.column('d:n', text) }), sets: ['first', 'last'] }, ({ name }) => {
 *   const [first, last] = name.split(' ');
 *   return { first, last };
 * })
 * ```
 */
export function Upgrade<Old extends PropertyDefinitions, const Sets extends string>(
  from: number,
  options: UpgradeOptions<Old, Sets>,
  upgrade: (old: ObjectOf<Old>) => Upgraded<Sets>,
): AnyClassDecorator {
  return classDecorator('Upgrade', (declaration) => {
    declaration.upgrades.push(upgradeOf(from, options, upgrade));
  });
}

/** An upgrade for `defineEntity`, as `@Upgrade`. */
export interface UpgradeDefinition {
  readonly from: number;
  readonly options: UpgradeOptions<PropertyDefinitions, string>;
  readonly upgrade: (old: never) => unknown;
}

/** As `@Upgrade`, in `upgrades` of `defineEntity`. */
export function upgrade<Old extends PropertyDefinitions, const Sets extends string>(
  from: number,
  options: UpgradeOptions<Old, Sets>,
  run: (old: ObjectOf<Old>) => Upgraded<Sets>,
): UpgradeDefinition {
  return { from, options, upgrade: run };
}

/** The declaration, with the old columns declared on a class of their own. */
export function upgradeOf(
  from: number,
  options: UpgradeOptions<PropertyDefinitions, string>,
  run: (old: never) => unknown,
): UpgradeDeclaration {
  const { old, ...rest } = (options ?? {}) as Partial<UpgradeOptions<PropertyDefinitions, string>>;
  class Old {}
  if (typeof old === 'function') declareProperties(Old, old(columnBuilder()));
  return {
    from,
    options: { ...rest, sets: rest.sets ?? [], old: typeof old === 'function' ? Old : undefined },
    upgrade: run as UpgradeDeclaration['upgrade'],
  };
}

/** What a list of upgrades is that is none; undefined: it is one. */
export function upgradesProblem(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const isUpgrade = (one: unknown) =>
    typeof one === 'object' && one !== null && 'from' in one && 'upgrade' in one;
  if (Array.isArray(given) && given.every(isUpgrade)) return undefined;
  return `upgrades is a list, [upgrade(1, { old, sets }, (old) => ({ … }))], not ${describe(given)}.`;
}
