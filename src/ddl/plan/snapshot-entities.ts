/**
 * The part of a snapshot about entities, beyond the metadata of their tables, and the differences between two
 * snapshots.
 */

import { fromHex, toHex, toStringBinary } from '../../bytes/index.js';
import { AvroCodec } from '../../codec/index.js';
import { digestOf } from '../../schema/derived.js';
import type {
  ColumnSchema,
  CopySchema,
  EntityClass,
  EntitySchema,
  IndexSchema,
  LinkSchema,
  ReferenceRule,
  RelationSchema,
  TableSchema,
} from '../../schema/types.js';
import { shownTtl } from './shell-script.js';
import type { StoredIndex } from './types.js';

/**
 * An entity as JSON: its declaration without what its stamp holds and without functions (hooks, checks, upgrades).
 * Undeclared properties are omitted.
 */
export interface SnapshotEntity {
  /** By property. */
  readonly columns?: Readonly<Record<string, object>>;
  readonly indexes?: Readonly<Record<string, SnapshotIndex>>;
  readonly [what: string]: unknown;
}

interface SnapshotIndex {
  /** The text whose digest is the index's id. */
  readonly signature: string;
  readonly unique?: boolean;
  readonly eventual?: boolean;
}

type NameOf = (target: EntityClass) => string;

/** The names by which entities refer to each other. */
export function entityNames(tables: readonly TableSchema[]): NameOf {
  const entities = tables.flatMap((table) => [...table.entities, ...table.retired]);
  const names = new Map(entities.map(({ target, name }) => [target, name]));
  return (target) => names.get(target) ?? target.name;
}

/** The entities of a table, by name. */
export function snapshotEntities(
  { entities, retired }: TableSchema,
  nameOf: NameOf,
): Record<string, SnapshotEntity> {
  return Object.fromEntries([
    ...entities.map((entity) => [entity.name, entityOf(entity, nameOf)] as const),
    ...retired.map(({ name, key }) => [name, declared({ key: key.signature, retired: true })] as const),
  ]);
}

function entityOf(entity: EntitySchema, nameOf: NameOf): SnapshotEntity {
  const { upgrades, timeToLive, lifecycle } = entity;
  const { property, milliseconds, renew, lifelong } = timeToLive;
  return declared({
    columns: declared(byName(entity.columns, (column) => column.property, columnOf)),
    upgrades: upgrades.map(({ from, old, sets, writeBack }) => ({
      from,
      old: old.map((column) => `${column.property} ${placeOf(column)} ${column.codec.name}`),
      sets,
      writeBack,
    })),
    versionProperty: entity.versionProperty,
    deletedProperty: entity.deletedProperty,
    setByItself: lifecycle.stamped,
    checked: [...lifecycle.checked].sort(),
    timeToLive: declared({ property, milliseconds, renew, lifelong }),
    changes: declared({ kept: entity.changesKept, marks: entity.changeMarks }),
    indexes: byName(entity.indexes, ({ name }) => name, indexOf),
    relations: byName(
      [...entity.relations.values()],
      (relation) => relation.property,
      (relation) => relationOf(relation, nameOf),
    ),
    references: byName(
      entity.references,
      (reference) => reference.property,
      (reference) => referenceOf(reference, nameOf),
    ),
    copies: entity.copies.map((copy) => copyOf(copy, nameOf)),
    mutual: entity.mutual,
    summaries: byName(
      entity.summaries,
      ({ name }) => name,
      ({ signature }) => signature,
    ),
  });
}

function columnOf(column: ColumnSchema): object {
  const { codec, window, required, was } = column;
  return declared({
    schema: codec instanceof AvroCodec ? codec.fingerprint : undefined,
    compatibility: codec instanceof AvroCodec ? codec.compatibility : undefined,
    window,
    required,
    was: was.map((place) => `${placeOf(place)} ${place.codec.name}`),
  });
}

function indexOf({ signature, unique, eventual }: IndexSchema): unknown {
  return declared({ signature, unique, eventual });
}

function relationOf({ kind, target, via, index, max }: RelationSchema, nameOf: NameOf): unknown {
  return declared({ kind, target: nameOf(target()), via, index, max });
}

function linkOf({ target, via, index }: LinkSchema, nameOf: NameOf): Record<string, unknown> {
  return { target: nameOf(target()), via, index };
}

function referenceOf(reference: ReferenceRule, nameOf: NameOf): unknown {
  const { onDelete, exists } = reference;
  return declared({ ...linkOf(reference, nameOf), onDelete, exists });
}

function copyOf(copy: CopySchema, nameOf: NameOf): unknown {
  const fields = copy.fields.map(({ column, source }) => `${column.property} <- ${source}`);
  return declared({ ...linkOf(copy, nameOf), fields, fanOut: copy.fanOut });
}

function placeOf({ family, qualifier }: Pick<ColumnSchema, 'family' | 'qualifier'>): string {
  return `${family}:${toStringBinary(qualifier)}`;
}

function byName<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
  describe: (item: T) => unknown,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(items.map((item) => [nameOf(item), describe(item)]));
}

/** Without empty values, so that a later release that knows more properties finds old files unchanged. */
function declared(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const says = (value: unknown): boolean =>
    value !== undefined &&
    value !== false &&
    (typeof value !== 'object' || value === null || Object.keys(value).length > 0);
  return Object.fromEntries(Object.entries(values).filter(([, value]) => says(value)));
}

/** The indexes of a snapshot's table as a plan expects stored ones, all of them built. By id in hex. */
export function snapshotIndexes(
  entities: Readonly<Record<string, SnapshotEntity>>,
): Map<string, StoredIndex> {
  const found = new Map<string, StoredIndex>();
  for (const [entity, { indexes = {} }] of Object.entries(entities)) {
    for (const [index, { signature }] of Object.entries(indexes)) {
      found.set(toHex(digestOf(signature)), { entity, index, signature, state: 'active', build: 0 });
    }
  }
  return found;
}

/** One value that differs between declarations and a snapshot. */
export interface SnapshotDifference {
  readonly table: string;
  /** The path in the file, below the table: `['entities', 'Order', 'columns', 'note']`. */
  readonly path: readonly string[];
  /** The value in the snapshot; undefined if it has none. */
  readonly from?: unknown;
  /** The declared value; undefined if it is no longer declared. */
  readonly to?: unknown;
}

/** Groups of named values in an entity (`entities`, the entity, `indexes`) are omitted if empty. */
const GROUP_DEPTH = 3;

/** The differences between two JSON values. A value that only one side has is reported as a whole. */
export function differencesOf(
  table: string,
  from: unknown,
  to: unknown,
  path: readonly string[] = [],
): SnapshotDifference[] {
  if (path[0] === 'entities' && path.length === GROUP_DEPTH) {
    if (from === undefined && isObject(to)) return differencesOf(table, {}, to, path);
    if (to === undefined && isObject(from)) return differencesOf(table, from, {}, path);
  }
  if (isObject(from) && isObject(to)) {
    const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort();
    return names.flatMap((name) => differencesOf(table, from[name], to[name], [...path, name]));
  }
  if (JSON.stringify(from) === JSON.stringify(to)) return [];
  return [{ table, path, ...(from !== undefined && { from }), ...(to !== undefined && { to }) }];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const AFTER_EXPIRY = 'when all have, run rowan index repair and rowan summary build, if it has any.';

/** One line for each difference, for people. */
export function describeSnapshotDifferences(differences: readonly SnapshotDifference[]): string {
  const lines = differences.map(({ table, path, from, to }) => {
    const isHex = path.at(-3) === 'columns' && path.at(-1) === 'qualifier';
    const endless = path.at(-2) === 'timeToLive' && path.at(-1) === 'lifelong' && to === undefined;
    const note = endless ? `. Earlier rows of ${path.at(-3)} still expire: ${AFTER_EXPIRY}` : '';
    const isTtl = path[0] === 'families' && path.at(-1) === 'ttl';
    const shown = isHex ? textOf : isTtl ? shownTtl : (value: unknown): unknown => value;
    return `    ${table} ${path.join('.')}: ${changeOf(shown(from), shown(to))}${note}`;
  });
  return lines.length === 0 ? '' : `Differences from the snapshot:\n${lines.join('\n')}\n`;
}

/** A qualifier as people write it; the file has it in hex. */
function textOf(qualifier: unknown): unknown {
  return typeof qualifier === 'string' ? toStringBinary(fromHex(qualifier)) : qualifier;
}

function changeOf(from: unknown, to: unknown): string {
  if (to === undefined) return `${short(from)} no longer exists`;
  if (from === undefined) return `${short(to)} is new`;
  const [before, after] = changedItems(from, to);
  return `${short(before)} -> ${short(after)}`;
}

function short(value: unknown): string {
  return isObject(value) ? 'it' : JSON.stringify(value);
}

/** Of two signatures, which are lists as texts, what differs; other values as they are. */
function changedItems(from: unknown, to: unknown): readonly [unknown, unknown] {
  const [before, after] = [listOf(from), listOf(to)];
  if (before === undefined || after === undefined || before.length !== after.length) return [from, to];
  const differs = before.map((item, i) => JSON.stringify(item) !== JSON.stringify(after[i]));
  const changed = (items: readonly unknown[]): string =>
    items
      .filter((_, i) => differs[i])
      .map((item) => (typeof item === 'string' ? item : JSON.stringify(item)))
      .join(', ');
  return [changed(before), changed(after)];
}

function listOf(signature: unknown): readonly unknown[] | undefined {
  if (typeof signature !== 'string') return undefined;
  try {
    const list: unknown = JSON.parse(signature);
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}
