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

/** Options of `@Upgrade` besides the version and the function. */
export interface UpgradeOptions<Old, Sets extends string> {
  /** The columns of the old version that the function receives, each as it was declared then. */
  readonly old: (builder: ColumnBuilder<string>) => Old;
  /** The properties of the next version that the function returns. One that it leaves out is absent. */
  readonly sets: readonly Sets[];
  /** Whether a read by key writes the upgraded row back. Default false: only writes upgrade a stored row. */
  readonly writeBack?: boolean;
}

/**
 * The result of an upgrade: a value for each property that it sets. One left out, undefined or null is
 * absent.
 */
export type Upgraded<Sets extends string> = { readonly [Name in Sets]?: unknown };

/**
 * Declares how a row of version `from` becomes a row of the next version (docs/schema.md, "Rows of an older
 * version"). The function must be deterministic, because it runs on every read of an older row.
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

/** An upgrade for `defineEntity`, like `@Upgrade`. */
export interface UpgradeDefinition {
  readonly from: number;
  readonly options: UpgradeOptions<PropertyDefinitions, string>;
  readonly upgrade: (old: never) => unknown;
}

/** Like `@Upgrade`, for `upgrades` of `defineEntity`. */
export function upgrade<Old extends PropertyDefinitions, const Sets extends string>(
  from: number,
  options: UpgradeOptions<Old, Sets>,
  run: (old: ObjectOf<Old>) => Upgraded<Sets>,
): UpgradeDefinition {
  return { from, options, upgrade: run };
}

/** Builds the declaration, with the old columns declared on a class of their own. */
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

/** Says why the value is not a list of upgrades; undefined if it is one. */
export function upgradesProblem(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const isUpgrade = (one: unknown) =>
    typeof one === 'object' && one !== null && 'from' in one && 'upgrade' in one;
  if (Array.isArray(given) && given.every(isUpgrade)) return undefined;
  return `upgrades is a list, [upgrade(1, { old, sets }, (old) => ({ … }))], not ${describe(given)}.`;
}
