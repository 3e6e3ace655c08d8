import { createHash, randomBytes } from 'node:crypto';
import { fromHex, toHex, toStringBinary } from '../../bytes/index.js';
import { ConflictError, InvalidArgumentError, QueryError } from '../../errors.js';
import { BaseCodec, valueOfStored } from '../../key/index.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { ColumnSchema, EntitySchema } from '../../schema/types.js';
import {
  type Cell,
  CellType,
  Get,
  type Result,
  type RowMutation,
  type RowMutations,
  type Table,
} from '../../table/index.js';
import type { MutationShown, WriteAsked, WriteDone, WritePlanned } from './api.js';
import { literal, repositoryOf, typedFor } from './questions.js';
import type { StudioDatabase, StudioPreview } from './studio-database.js';
import { ColumnFinder } from './values.js';

/** Writes that can be taken back; the oldest is forgotten first. */
const MAX_UNDOS = 100;
/** Characters of a value in a planned mutation. */
const MAX_VALUE = 400;
/** Mutations that are shown of a plan. */
const MAX_MUTATIONS = 200;

type Values = Record<string, unknown>;

/** A repository of a class that is known only when it runs. */
interface WritingRepository {
  get(key: Values): Promise<Values | null>;
  insert(entity: object): Promise<void>;
  update(key: Values, patch: Values): Promise<unknown>;
  replace(entity: object): Promise<void>;
  delete(key: Values): Promise<void>;
  restore(key: Values): Promise<unknown>;
}

/** A write that was read: what it is of, and how it is made. */
interface ReadWrite {
  readonly asked: WriteAsked;
  readonly schema: EntitySchema;
  readonly key: Values;
  readonly row: Uint8Array;
  readonly values: Values;
  make(repository: WritingRepository): Promise<unknown>;
}

interface Undo {
  readonly write: ReadWrite;
  readonly before: Values | null;
  /** The row as the write left it. */
  readonly left: string;
}

/**
 * Writes of the studio, of one row each, through the repository: rules, indexes and versions apply. A write is planned first, which
 * lists its mutations; it is made when what has to be typed was typed and the row is still as it was seen; it can be taken back
 * while the row is as it left it.
 */
export class Writes {
  private readonly undos = new Map<string, Undo>();

  constructor(private readonly db: StudioDatabase) {}

  /** Lists what a write would change. Writes nothing. @throws what the write would throw. */
  async plan(asked: WriteAsked): Promise<WritePlanned> {
    const write = this.read(asked);
    const { schema, key } = write;
    const seen = digestOf(await this.rowNow(write));
    const { preview, ...explained } = await this.db.explainWrite(
      schema.target as KeyedClass,
      key as never,
      (repository) => write.make(repository as unknown as WritingRepository),
    );
    const mutations = preview?.mutations ?? [];
    const effects = [
      ...explained.indexes.map((name) => `entries of the index ${name}`),
      ...(explained.summaries ?? []).map((name) => `the summary ${name}`),
      ...(explained.copiedTo ?? []).map(
        ({ entity, rows, how }) => `copies in ${rows} rows of ${entity} (${how})`,
      ),
      ...(explained.referredBy ?? []).map(
        ({ entity, property, rows, onDelete }) =>
          `${rows} rows of ${entity} name it by ${property}; on delete: ${onDelete}`,
      ),
      ...(explained.mirror === true ? ['the mirror of the row'] : []),
      ...(explained.keyChange == null ? [] : [`the row of ${explained.keyChange.other} with the other keys`]),
      ...(typeof explained.changes === 'number' ? ['the change feed'] : []),
    ];
    return {
      mutations: mutations.slice(0, MAX_MUTATIONS).map(shownMutation),
      complete: preview?.complete === true && mutations.length <= MAX_MUTATIONS,
      effects,
      confirm: `${asked.operation} ${asked.entity}`,
      seen,
      code: codeOf(write),
    };
  }

  /**
   * Makes a write.
   * @throws InvalidArgumentError when what was typed is not what has to be typed; ConflictError when the row has changed.
   */
  async make(asked: WriteAsked, confirm: unknown, seen: unknown): Promise<WriteDone> {
    const write = this.read(asked);
    const wanted = `${asked.operation} ${asked.entity}`;
    if (confirm !== wanted) throw new InvalidArgumentError(`Type "${wanted}" to make this write.`);
    const before = await this.whileAs(write, String(seen), (repository) => write.make(repository));
    const now = await this.rowNow(write);
    // Cells that no column declares would be lost: the entity does not hold them.
    const canUndo = asked.operation === 'insert' || before.isWhole;
    if (!canUndo) return { row: toHex(write.row), undo: null };
    const token = randomBytes(16).toString('base64url');
    this.undos.set(token, { write, before: before.entity, left: digestOf(now) });
    const [oldest] = this.undos.keys();
    if (this.undos.size > MAX_UNDOS) this.undos.delete(oldest!);
    return { row: toHex(write.row), undo: token };
  }

  /** Takes a write back. @throws ConflictError when the row is not as the write left it; InvalidArgumentError on another token. */
  async undo(token: unknown): Promise<WriteDone> {
    const undo = this.undos.get(String(token));
    if (undo === undefined)
      throw new InvalidArgumentError('This write cannot be taken back: it is not known, or was taken back.');
    const { write, before, left } = undo;
    const { schema, key, asked } = write;
    await this.whileAs(write, left, async (repository) => {
      if (before === null) return repository.delete(key);
      if (asked.operation === 'delete') {
        if (schema.deletedProperty !== undefined) return repository.restore(key);
        return repository.insert(withVersion(schema, before, undefined));
      }
      const now = await repository.get(key);
      return repository.replace(withVersion(schema, before, now?.[schema.versionProperty ?? '']));
    });
    this.undos.delete(String(token));
    return { row: toHex(write.row), undo: null };
  }

  /** @throws QueryError, KeyError, what codecs say of a value. */
  private read(asked: WriteAsked): ReadWrite {
    const { operation, entity } = asked;
    const { schema } = repositoryOf(this.db, entity);
    const given = asked.values ?? {};
    const values: Values = Object.create(null) as Values;
    const keyValues: Values = {};
    for (const [name, text] of Object.entries(given)) {
      const part = schema.key.parts.find((each) => each.name === name);
      const column = schema.columnsByProperty.get(name);
      if (part !== undefined && operation === 'insert') {
        if (text === null) continue;
        const isText = schema.key.substitutions.some((each) => each.part === name);
        keyValues[name] =
          isText || !(part.codec instanceof BaseCodec) ? text : typedFor(name, part.codec, text);
      } else if (part !== undefined) {
        throw new QueryError(
          `${name} is a part of the key: a row keeps its key. Insert another and delete this one.`,
        );
      } else if (column === undefined) throw new QueryError(`${entity} has no property "${name}".`);
      else set(values, column, text === null ? null : columnValue(column, text));
    }
    const row = operation === 'insert' ? schema.key.encode(keyValues) : rowOf(asked.row);
    const key = operation === 'insert' ? keyValues : schema.key.decode(row);
    const missing = schema.key.parts.find(({ name }) => key[name] === undefined);
    if (missing !== undefined)
      throw new QueryError(
        `The key holds no value of ${missing.name} that can be read back: write this row by a program.`,
      );
    const make = (repository: WritingRepository): Promise<unknown> => {
      if (operation === 'delete') return repository.delete({ ...key });
      if (operation === 'update') return repository.update({ ...key }, { ...values });
      return repository.insert(Object.assign(Object.create(schema.target.prototype as object), key, values));
    };
    return { asked, schema, key, row, values, make };
  }

  /** Writes while the row is as it was seen: in one transaction where the engine has them, else checked right before. */
  private async whileAs(
    { schema, row, key }: ReadWrite,
    seen: string,
    write: (repository: WritingRepository) => Promise<unknown>,
  ): Promise<{ readonly entity: Values | null; readonly isWhole: boolean }> {
    const name = schema.table.descriptor.name;
    const target = schema.target as KeyedClass;
    const work = async (table: Table, repository: WritingRepository) => {
      const result = await table.get(new Get(row));
      if (digestOf(result) !== seen)
        throw new ConflictError('The row has changed since it was shown. Look at it again.');
      const entity = await repository.get({ ...key });
      const columns = new ColumnFinder(schema);
      const isWhole = result.cells.every((cell) => columns.isMarker(cell) || columns.of(cell) !== undefined);
      await write(repository);
      return { entity, isWhole };
    };
    const { engine } = this.db;
    if (engine.transaction === undefined || this.db.transaction === undefined)
      return work(engine.table(name), this.db.repository(target) as unknown as WritingRepository);
    return this.db.transaction((tx) =>
      work(tx.table(name), tx.repository(target) as unknown as WritingRepository),
    );
  }

  private rowNow({ schema, row }: ReadWrite): Promise<Result> {
    return this.db.engine.table(schema.table.descriptor.name).get(new Get(row));
  }
}

function rowOf(hex: string | undefined): Uint8Array {
  if (hex !== undefined && /^([0-9a-f]{2})+$/.test(hex)) return fromHex(hex);
  throw new InvalidArgumentError('The write names no row in hex.');
}

/** @throws QueryError on columns of many cells, which have no one value. */
function columnValue({ property, kind, codec }: ColumnSchema, text: string): unknown {
  if (kind === 'columns' || kind === 'counter')
    throw new QueryError(
      `${property} is ${kind === 'counter' ? 'a counter' : 'a map'}: write it by a program.`,
    );
  if (/^(json|avro)/.test(codec.name)) {
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch (cause) {
      // Other texts are values of JSON as they stand.
      if (/^\s*[{["]/.test(text))
        throw new QueryError(`${property}: it is no JSON: ${(cause as Error).message}.`, { cause });
      return typedFor(property, codec, text);
    }
    return valueOfStored(codec, json);
  }
  return typedFor(property, codec, text);
}

/** Sets a value of an embedded object inside of it. */
function set(values: Values, { path }: ColumnSchema, value: unknown): void {
  let inside = values;
  for (const name of path.slice(0, -1)) {
    inside[name] ??= Object.create(null) as Values;
    inside = inside[name] as Values;
  }
  inside[path.at(-1)!] = value;
}

/** An entity with the version that a write expects. */
function withVersion({ versionProperty }: EntitySchema, entity: Values, version: unknown): Values {
  if (versionProperty === undefined) return entity;
  return Object.assign(Object.create(Object.getPrototypeOf(entity) as object) as Values, entity, {
    [versionProperty]: version,
  });
}

/** A digest of the cells of a row: it differs when any cell, or its time, does. */
function digestOf({ cells }: Result): string {
  const hash = createHash('sha256');
  for (const { family, qualifier, timestamp, type, value } of cells as readonly Cell[]) {
    hash.update(`${family}:${toHex(qualifier)} ${timestamp} ${type} ${value.length} `);
    hash.update(value);
  }
  return hash.digest('base64url');
}

function shownMutation({
  table,
  change,
}: NonNullable<StudioPreview['preview']>['mutations'][number]): MutationShown {
  const parts = mutationsOf(change);
  return {
    table,
    kind: parts.map(({ kind }) => kind).join(' and '),
    row: toStringBinary(change.row),
    cells: parts.flatMap(shownCells),
  };
}

const mutationsOf = (change: RowMutation | RowMutations): readonly RowMutation[] =>
  change.kind === 'rowMutations' ? change.mutations : [change];

function shownCells(mutation: RowMutation): MutationShown['cells'] {
  if (mutation.kind === 'put' || mutation.kind === 'delete') {
    if (mutation.cells.length === 0) return [{ column: '(the whole row)', type: mutation.kind, value: '' }];
    return mutation.cells.map(({ family, qualifier, type, value }) => ({
      column: `${family}:${toStringBinary(qualifier)}`,
      type: CELL_TYPES.get(type) ?? mutation.kind,
      value: printed(value),
    }));
  }
  return mutation.columns.map((column) => ({
    column: `${column.family}:${toStringBinary(column.qualifier)}`,
    type: mutation.kind,
    value: 'amount' in column ? String(column.amount) : printed(column.value),
  }));
}

const CELL_TYPES: ReadonlyMap<number, string> = new Map(
  Object.entries(CellType).map(([name, code]) => [code, name]),
);

const printed = (value: Uint8Array): string =>
  `${toStringBinary(value.subarray(0, MAX_VALUE))}${value.length > MAX_VALUE ? '…' : ''}`;

function codeOf({ asked, schema, key, values }: ReadWrite): string {
  const orders = `db.repository(${schema.target.name})`;
  if (asked.operation === 'delete') return `await ${orders}.delete(${literal(key)});`;
  if (asked.operation === 'update') return `await ${orders}.update(${literal(key)}, ${literal(values)});`;
  return `await ${orders}.insert(${literal({ ...key, ...values })});`;
}
