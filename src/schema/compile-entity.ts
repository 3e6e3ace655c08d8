/** Compiles one entity: key layout, columns, marker, lifecycle, TTL, indexes, and what features declare. */

import type { IndexDeclaration, Validator } from '../../decorators/index.js';
import { equalBytes, startsWithBytes, toBytes } from '../bytes/index.js';
import { compileKeyLayout, type KeyLayout } from '../key/index.js';
import { describe, isCallable } from '../table/checks.js';
import { type CollectedEntity, collectEntity } from './collect.js';
import { type CompiledColumns, compileColumns } from './columns.js';
import { partCodec } from './derived.js';
import { FEATURE_COMPILERS } from './feature-compilers.js';
import type { FeatureOwner, FeatureSchemas } from './feature-part.js';
import { compileLifecycle, type EntitySubscriber, subscribedHooks, timeToLiveOf } from './lifecycle.js';
import { compileRelations } from './links.js';
import { changesOf, markerValue } from './marker.js';
import type { Problems } from './problems.js';
import type { EntityClass, EntityLifecycle, EntitySchema, IndexSchema, TimeToLive } from './types.js';

/** The qualifier of marker cells. */
const MARKER_QUALIFIER: Uint8Array = toBytes('_');

/** An entity before it is linked to its table. */
export interface CompiledEntity {
  readonly source: CollectedEntity;
  /** Undefined when the row key breaks a rule. */
  readonly key: KeyLayout | undefined;
  readonly columns: CompiledColumns;
  readonly marker: EntitySchema['marker'];
  readonly version: number;
  readonly upgrades: EntitySchema['upgrades'];
  readonly versionProperty: string | undefined;
  readonly deletedProperty: string | undefined;
  readonly timeToLive: TimeToLive;
  readonly lifecycle: EntityLifecycle;
  readonly changesKept: number | undefined;
  readonly changeMarks: string | undefined;
  readonly indexes: readonly IndexSchema[];
  readonly relations: EntitySchema['relations'];
  readonly copies: EntitySchema['copies'];
  readonly references: EntitySchema['references'];
  readonly summaries: EntitySchema['summaries'];
  readonly mutual: EntitySchema['mutual'];
  readonly computed: EntitySchema['computed'];
}

/** The compiler of what entities declare about rows of earlier declarations. */
const EARLIER_ROWS = FEATURE_COMPILERS.find(({ earlierRows }) => earlierRows !== undefined)?.earlierRows;

/** The compiler of indexes. */
const INDEXES = FEATURE_COMPILERS.find(({ indexes }) => indexes !== undefined)?.indexes;

const NO_UPGRADES: EntitySchema['upgrades'] = Object.freeze([]);

/** `markerFamily`: the family of the marker, unless the declaration sets it. */
export function compileEntity(
  target: EntityClass,
  problems: Problems,
  markerFamily?: string,
  subscribers: readonly EntitySubscriber[] = [],
): CompiledEntity | undefined {
  if (!isCallable(target)) {
    problems.add(describe(target), undefined, 'It is no class.', 'Pass the entity classes themselves.');
    return undefined;
  }
  const source = collectEntity(target, problems);
  if (source === undefined) return undefined;
  const columns = compileColumns(source, problems, EARLIER_ROWS?.formerPlaces(source));
  const properties = { target, key: undefined, columns: columns.columns };
  const key = problems.catching(source.name, '', () =>
    compileKeyLayout(source.elements, (part) => partCodec(properties, part), source.declaration.recordType, {
      entity: source.name,
    }),
  );
  checkNames(source, key, columns, problems);
  checkDefaults(source, key, problems);
  checkValidators(source, problems);
  if (key !== undefined) {
    checkKeyNames(source, key, problems);
    checkKeyColumns(source, key, columns, problems);
  }
  const deletedProperty = deletedOf(source, problems);
  const version = EARLIER_ROWS?.version(source, problems) ?? 1;
  const marker = markerOf(source, columns, markerFamily, version, problems);
  const linked =
    key === undefined
      ? { ...NO_FEATURES, indexes: [] }
      : compileFeatures(source, key, columns, deletedProperty, problems);
  return {
    source,
    key,
    columns,
    marker,
    version,
    upgrades: EARLIER_ROWS?.upgrades(source, columns, marker, problems) ?? NO_UPGRADES,
    versionProperty: versionOf(source, key, problems),
    deletedProperty,
    timeToLive: timeToLiveOf(source, problems),
    ...changesOf(source, problems),
    lifecycle: compileLifecycle({
      ...source,
      hooks: [...source.hooks, ...subscribedHooks(target, subscribers)],
    }),
    relations: compileRelations(source, storedNames(key, columns), problems),
    ...linked,
  };
}

type Linked = Pick<CompiledEntity, 'indexes'> & FeatureSchemas;

const NO_FEATURES: FeatureSchemas = {
  copies: [],
  references: [],
  summaries: [],
  mutual: undefined,
  computed: [],
};

/** Compiles the indexes (declared ones, and those that features need) and the declarations of features. */
function compileFeatures(
  source: CollectedEntity,
  key: KeyLayout,
  columns: CompiledColumns,
  deletedProperty: string | undefined,
  problems: Problems,
): Linked {
  const declared = INDEXES?.(source, key, columns, problems) ?? [];
  const owner: FeatureOwner = { name: source.name, key, columns: columns.columns, deletedProperty };
  const parts = FEATURE_COMPILERS.flatMap((feature) => feature.compile?.(source, owner, problems) ?? []);
  const needed = new Map<string, IndexDeclaration>();
  for (const { declaration, purpose } of parts.flatMap((part) => part.indexes(declared))) {
    const { name } = declaration;
    if (!needed.has(name) && source.indexes.some((index) => index.name === name)) {
      problems.add(
        source.name,
        undefined,
        `It has an index "${name}", the name of the one that ${purpose}.`,
        'Give it another name.',
      );
    }
    needed.set(name, declaration);
  }
  const added = INDEXES?.({ ...source, indexes: [...needed.values()] }, key, columns, problems) ?? [];
  const indexes = needed.size === 0 ? declared : Object.freeze([...declared, ...added]);
  return Object.assign({ ...NO_FEATURES, indexes }, ...parts.map((part) => part.schema(indexes)));
}

/** Defaults belong to existing properties, and are functions. */
function checkDefaults(source: CollectedEntity, key: KeyLayout | undefined, problems: Problems): void {
  const names = new Set([
    ...(key?.parts ?? []).map(({ name }) => name),
    ...source.properties.map(({ property }) => property),
    ...source.ttls,
  ]);
  for (const { property, make } of source.defaults) {
    if (typeof make !== 'function') {
      const rule = `Its default is ${describe(make)}, and is to be a function that makes the value.`;
      problems.add(source.name, property, rule, "Write @Default(() => 'open').");
    } else if (key !== undefined && !names.has(property)) {
      const rule = 'It has a default, but is no column and no part of the key.';
      problems.add(source.name, property, rule, 'Declare its column, or take the default away.');
    }
  }
}

/** Reports validators that are no Standard Schema: JavaScript and casts pass the compiler by. */
function checkValidators(source: CollectedEntity, problems: Problems): void {
  for (const { property, validator } of source.checks) {
    const standard = (validator as Partial<Validator> | null | undefined)?.['~standard'];
    if (isCallable((standard as Partial<Validator['~standard']> | undefined)?.validate)) continue;
    problems.add(
      source.name,
      property,
      `Its validator is ${describe(validator)}, which is no Standard Schema: it has no "~standard".validate.`,
      'Give a schema of zod, valibot, arktype or the like.',
    );
  }
}

/** The properties by which relations can find other entities: key parts and single-valued columns. */
function storedNames(key: KeyLayout | undefined, { columns }: CompiledColumns): ReadonlySet<string> {
  const single = columns.filter(({ kind }) => kind === 'column');
  return new Set([...(key?.parts ?? []).map(({ name }) => name), ...single.map(({ property }) => property)]);
}

/** The property of a role that only one may have. */
function onlyRole(source: CollectedEntity, role: string, problems: Problems): string | undefined {
  const found = source.properties.filter((property) => property.kind === 'column' && property.role === role);
  for (const { property, decorator } of found.slice(1)) {
    problems.add(
      source.name,
      property,
      `It is the second property with @${decorator}; the first is "${found[0]!.property}".`,
      'Leave one.',
    );
  }
  return found[0]?.property;
}

/** With a random salt each put creates a row, so there is no stored version to compare. */
function versionOf(
  source: CollectedEntity,
  key: KeyLayout | undefined,
  problems: Problems,
): string | undefined {
  const property = onlyRole(source, 'version', problems);
  if (property !== undefined && key?.deterministic === false) {
    problems.add(
      source.name,
      property,
      'It has @Version, and the salt of its key is drawn at random: each put makes a row of its own.',
      "Leave out assign: 'random', or the version.",
    );
  }
  return property;
}

function deletedOf(source: CollectedEntity, problems: Problems): string | undefined {
  const property = onlyRole(source, 'deletedAt', problems);
  if (property !== undefined && source.declaration.marker === false) {
    problems.add(
      source.name,
      property,
      'It has @DeletedAt and no marker, so nothing would tell whether there is a row to be deleted.',
      'Leave out marker: false, or @DeletedAt.',
    );
  }
  return property;
}

function checkKeyNames(source: CollectedEntity, key: KeyLayout, problems: Problems): void {
  if (source.keyNames === undefined) return;
  const parts = key.parts.map((part) => part.name);
  if (parts.join('\n') === source.keyNames.join('\n')) return;
  problems.add(
    source.name,
    undefined,
    `Its static key lists [${source.keyNames.join(', ')}], @RowKey has the parts [${parts.join(', ')}].`,
    `Write: declare static readonly key: [${parts.map((part) => `'${part}'`).join(', ')}].`,
  );
}

/** Every object has such a name already; a name with a dot could mean a property of an embedded object. */
function checkNames(
  source: CollectedEntity,
  key: KeyLayout | undefined,
  { columns }: CompiledColumns,
  problems: Problems,
): void {
  const parts = key?.parts.map(({ name }) => [name]) ?? [];
  const seen = new Set<string>();
  for (const path of [...parts, ...columns.map((column) => column.path)]) {
    for (const name of path) {
      if (seen.has(name)) continue;
      seen.add(name);
      if (name in Object.prototype) {
        problems.add(source.name, name, 'Every object has a property of this name.', 'Give it another.');
      } else if (name.includes('.')) {
        problems.add(
          source.name,
          name,
          'The dot stands for properties of embedded objects.',
          'Give it a name without one; the column can keep its qualifier.',
        );
      }
    }
  }
}

/** A property is a key part or a column; both only where the key holds just its digest. */
function checkKeyColumns(
  source: CollectedEntity,
  key: KeyLayout,
  { columns }: CompiledColumns,
  problems: Problems,
): void {
  for (const part of key.parts) {
    const column = columns.find((candidate) => candidate.path[0] === part.name);
    const windowed = columns.some((candidate) => candidate.window?.part === part.name);
    if (column !== undefined && (part.recoverable || windowed)) {
      problems.add(
        source.name,
        part.name,
        'The property is a part of the key and a column as well.',
        'Remove the column: the key gives the value back.',
      );
    } else if (!part.recoverable && column === undefined && !windowed) {
      problems.add(
        source.name,
        part.name,
        'The key holds only a digest or a time bucket of the property, so it cannot be read back.',
        'Store it in a column too: @Column(...); or keep it in the key: hash(..., { keep: true }), or part(...) behind it.',
      );
    }
  }
}

function markerOf(
  source: CollectedEntity,
  { columns }: CompiledColumns,
  stored: string | undefined,
  version: number,
  problems: Problems,
): EntitySchema['marker'] {
  const { marker = true } = source.declaration;
  const families = Object.keys(source.table.families ?? {});
  if (marker === false) {
    if (columns.length === 0) {
      problems.add(
        source.name,
        undefined,
        'It has neither columns nor a marker cell, so that nothing of it could be stored.',
        'Declare a column, or leave out `marker: false`.',
      );
    }
    return undefined;
  }
  if (typeof marker === 'string' && !families.includes(marker)) {
    problems.add(
      source.name,
      undefined,
      `Its marker is to stand in the family "${marker}", which table "${source.table.name}" does not have.`,
      `Use one of: ${families.join(', ')}.`,
    );
  }
  const inOrder = [...columns].sort((a, b) => a.order - b.order);
  const first = inOrder.find((column) => families.includes(column.family))?.family ?? families[0] ?? '';
  const kept = stored !== undefined && families.includes(stored) ? stored : first;
  const family = typeof marker === 'string' ? marker : kept;
  const taken = columns.find((column) =>
    (column.kind === 'columns' ? column.was : [column, ...column.was]).some(
      (place) =>
        place.family === family &&
        (column.kind === 'columns'
          ? startsWithBytes(MARKER_QUALIFIER, place.qualifier)
          : equalBytes(MARKER_QUALIFIER, place.qualifier)),
    ),
  );
  if (taken !== undefined) {
    problems.add(
      source.name,
      taken.property,
      `The column "${family}:_" is that of the entity's marker cell.`,
      'Give the property another qualifier, or pin the marker to another family: @Entity({ marker: "family" }).',
    );
  }
  return Object.freeze({ family, qualifier: MARKER_QUALIFIER, value: markerValue(version) });
}
