/**
 * Compiles `@Upgrade` declarations: the functions that turn rows of older versions into rows of the present version.
 */

import type { UpgradeDeclaration } from '../../../decorators/index.js';
import { equalBytes, startsWithBytes, toStringBinary } from '../../bytes/index.js';
import { type CollectedEntity, propertiesOf } from '../../schema/collect.js';
import { type CompiledColumns, compileColumns } from '../../schema/columns.js';
import type { FeatureCompiler } from '../../schema/feature-part.js';
import { LAST_VERSION } from '../../schema/marker.js';
import type { Problems } from '../../schema/problems.js';
import type { ColumnSchema, EntitySchema, UpgradeSchema } from '../../schema/types.js';
import { describe } from '../../table/checks.js';
import { tableDescriptor } from '../../table/index.js';
import { FormerPlaces } from './former-places.js';

type Placed = Pick<ColumnSchema, 'family' | 'qualifier'>;

/** Compiles `schemaVersion`, `was` and `@Upgrade`. */
export const evolutionCompiler: FeatureCompiler = {
  earlierRows: { version: versionOfEntity, formerPlaces: formerPlacesOf, upgrades: compileUpgrades },
};

function formerPlacesOf({ table }: CollectedEntity): FormerPlaces {
  return new FormerPlaces(table.name, table.families ?? {});
}

/** The version of an entity. 1 where the declared one is invalid. */
function versionOfEntity(source: CollectedEntity, problems: Problems): number {
  const { schemaVersion = 1, marker } = source.declaration;
  if (!Number.isInteger(schemaVersion) || schemaVersion < 1 || schemaVersion > LAST_VERSION) {
    problems.add(
      source.name,
      undefined,
      `Its schemaVersion is ${describe(schemaVersion)}.`,
      `Give a whole number from 1 to ${LAST_VERSION}; leave it out for 1.`,
    );
    return 1;
  }
  if (schemaVersion > 1 && marker === false) {
    problems.add(
      source.name,
      undefined,
      'It has a schemaVersion and no marker, which a row tells its version by.',
      'Leave out marker: false.',
    );
  }
  return schemaVersion;
}

/** The upgrades of an entity, in the order of their versions. */
function compileUpgrades(
  source: CollectedEntity,
  columns: CompiledColumns,
  marker: EntitySchema['marker'],
  problems: Problems,
): readonly UpgradeSchema[] {
  if (source.upgrades.length === 0) return Object.freeze([]);
  const found = new UpgradeCompiler(source, columns, marker, problems).compile();
  return Object.freeze(found);
}

const OPTIONS: Readonly<Record<keyof UpgradeDeclaration['options'], true>> = {
  old: true,
  sets: true,
  writeBack: true,
};

class UpgradeCompiler {
  private readonly byProperty: ReadonlyMap<string, ColumnSchema>;
  private readonly kept: ReadonlyMap<string, number>;

  constructor(
    private readonly source: CollectedEntity,
    private readonly columns: CompiledColumns,
    private readonly marker: EntitySchema['marker'],
    private readonly problems: Problems,
  ) {
    this.byProperty = new Map(columns.columns.map((column) => [column.property, column]));
    const { name, families } = source.table;
    const described = problems.catching(name, '', () => tableDescriptor(name, families ?? {}));
    this.kept = new Map((described?.families ?? []).map((family) => [family.name, family.versions]));
  }

  compile(): UpgradeSchema[] {
    const before = this.problems.count;
    const upgrades = this.source.upgrades
      .map((declared) => this.compileOne(declared))
      .filter((one) => one !== undefined)
      .sort((a, b) => a.from - b.from);
    if (this.problems.count > before) return [];
    this.checkVersions(upgrades);
    this.checkSets(upgrades);
    this.checkPlaces(upgrades);
    for (const { property, was } of this.columns.columns) {
      if (was.length === 0) continue;
      this.problem(
        'It has @Upgrade, and a column that moves.',
        'Have the one done first: rowan schema apply.',
        property,
      );
    }
    return upgrades;
  }

  private problem(rule: string, remedy: string, property?: string): void {
    this.problems.add(this.source.name, property, rule, remedy);
  }

  private compileOne({ from, options, upgrade }: UpgradeDeclaration): UpgradeSchema | undefined {
    const { old, sets, writeBack = false } = options;
    const taker = `@Upgrade(${typeof from === 'number' ? from : describe(from)})`;
    const at = `Its ${taker}`;
    this.problems.checkOptions(this.source.name, undefined, taker, options, OPTIONS);
    const isList = Array.isArray(sets) && sets.length > 0 && sets.every((name) => typeof name === 'string');
    if (!Number.isInteger(from) || from < 1)
      this.problem(`${at} is of no version.`, 'Give a whole number from 1.');
    else if (old === undefined)
      this.problem(`${at} names no old columns.`, "Write old: (c) => ({ name: c.column('d:n', text) }).");
    else if (!isList || new Set(sets).size < sets.length)
      this.problem(`${at} sets ${describe(sets)}.`, "Name properties, each once: sets: ['first', 'last'].");
    else if (typeof writeBack !== 'boolean')
      this.problem(`${at} has writeBack ${describe(writeBack)}.`, 'Give true or false.');
    else if (typeof upgrade !== 'function')
      this.problem(`${at} has no function.`, 'Write (old) => ({ first: … }).');
    else {
      const before = this.problems.count;
      const { name } = this.source;
      const properties = propertiesOf(old, name, this.problems);
      const compiled = compileColumns(
        { ...this.source, target: old, properties, required: new Set(), upgrades: [] },
        this.problems,
        formerPlacesOf(this.source),
      );
      const plural = compiled.columns.find(({ kind }) => kind !== 'column');
      if (plural !== undefined) {
        this.problem(
          `${at} reads "${plural.property}", which is more than one cell or a counter.`,
          'An upgrade reads columns of one value.',
        );
      }
      if (this.problems.count > before) return undefined;
      return Object.freeze({
        from,
        old: compiled.columns,
        sets: Object.freeze([...sets]),
        writeBack,
        upgrade,
      });
    }
    return undefined;
  }

  /** Checks that each version below the entity's has an upgrade. */
  private checkVersions(upgrades: readonly UpgradeSchema[]): void {
    const { schemaVersion = 1 } = this.source.declaration;
    const versions = upgrades.map(({ from }) => from);
    const wanted = versions.map((_, i) => schemaVersion - versions.length + i);
    if (versions.join() === wanted.join()) return;
    this.problem(
      `Its schemaVersion is ${schemaVersion}, and its upgrades are from ${versions.join(', ')}.`,
      `Give one from each version up to ${schemaVersion - 1}, and schemaVersion one more than the last.`,
    );
  }

  /** Checks that an upgrade sets only columns of the entity or inputs of later upgrades. */
  private checkSets(upgrades: readonly UpgradeSchema[]): void {
    const roles = new Map(
      this.source.properties.map((one) => [one.property, one.kind === 'column' ? one.role : undefined]),
    );
    const copies = new Set(this.source.copies.flatMap(({ options }) => Object.keys(options?.fields ?? {})));
    const parts = new Set(this.source.elements.flatMap((element) => element.parts));
    upgrades.forEach(({ from, sets }, i) => {
      for (const property of sets) {
        const add = (rule: string, remedy: string) =>
          this.problem(`@Upgrade(${from}) sets it, ${rule}`, remedy, property);
        const column = this.byProperty.get(property);
        if (column === undefined) {
          const isTaken = upgrades
            .slice(i + 1)
            .some(({ old }) => old.some((one) => one.property === property));
          if (!isTaken) add('and there is no such column.', 'Name columns, or what a later upgrade takes.');
        } else if (column.kind !== 'column') {
          add('and it is more than one cell, or a counter.', 'Upgrades set columns of one value.');
        } else if (roles.get(property) !== undefined || copies.has(property) || parts.has(property)) {
          add('and it is not the application that sets it.', 'Leave it out of `sets`.');
        } else this.checkKept(column, from);
      }
    });
  }

  private checkKept({ property, family }: ColumnSchema, from: number): void {
    const versions = this.kept.get(family) ?? 1;
    if (versions === 1) return;
    this.problem(
      `@Upgrade(${from}) reads or sets it, and its family "${family}" keeps ${versions} versions, of which one would be left.`,
      'Upgrade columns of families that keep one.',
      property,
    );
  }

  /** Checks that a former place belongs to one column only. */
  private checkPlaces(upgrades: readonly UpgradeSchema[]): void {
    upgrades.forEach(({ from, old }, i) => {
      const settable = new Set(upgrades.slice(i).flatMap(({ sets }) => sets));
      for (const column of old) {
        this.checkKept(column, from);
        const place = `${column.family}:${toStringBinary(column.qualifier)}`;
        const add = (rule: string, remedy: string) =>
          this.problem(`@Upgrade(${from}) reads it at ${place}, ${rule}`, remedy, column.property);
        if (this.marker !== undefined && isSame(this.marker, column))
          add('where markers stand.', 'Pin the marker to another family: @Entity({ marker }).');
        const now = this.columns.columns.find((one) => standsAt(one, column));
        if (now === undefined) continue;
        if (now.kind !== 'column') add(`which is of "${now.property}" now.`, 'Give that another place.');
        else if (now.codec.name !== column.codec.name && !settable.has(now.property))
          add(
            `which "${now.property}" has with another codec, and nothing sets that.`,
            `Name "${now.property}" in \`sets\`.`,
          );
      }
    });
  }
}

function isSame(a: Placed, b: Placed): boolean {
  return a.family === b.family && equalBytes(a.qualifier, b.qualifier);
}

function standsAt(column: ColumnSchema, place: Placed): boolean {
  if (column.kind !== 'columns') return isSame(column, place);
  return column.family === place.family && startsWithBytes(place.qualifier, column.qualifier);
}
