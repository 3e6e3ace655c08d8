import { date, int53, type ValueCodec } from '../src/codec/index.js';
import type { ColumnName, ColumnRole, HookMoment } from './declaration.js';
import { type AnyMethodDecorator, memberDecorator, type PropertyDecoratorOf } from './modes.js';

/**
 * Optimistic locking: a number that every write counts up, and that a put must know. A put of an entity whose stored
 * version is another one throws a ConflictError; of a new entity the version is undefined.
 */
export function Version(column: ColumnName): PropertyDecoratorOf<number>;
export function Version<T extends number | bigint>(
  column: ColumnName,
  codec: ValueCodec<T>,
): PropertyDecoratorOf<T>;
export function Version(
  column: ColumnName,
  codec: ValueCodec<unknown> = int53,
): PropertyDecoratorOf<unknown> {
  return roleDecorator('Version', 'version', column, codec);
}

/**
 * The time at which the entity was inserted. `insert` sets it when it is undefined; a put, which does not know whether
 * the entity is new, leaves it alone.
 */
export function CreatedAt(column: ColumnName): PropertyDecoratorOf<Date>;
export function CreatedAt<T extends Date | number>(
  column: ColumnName,
  codec: ValueCodec<T>,
): PropertyDecoratorOf<T>;
export function CreatedAt(
  column: ColumnName,
  codec: ValueCodec<unknown> = date,
): PropertyDecoratorOf<unknown> {
  return roleDecorator('CreatedAt', 'createdAt', column, codec);
}

/** The time of the last put, insert, replace or update through a repository, which set it. */
export function UpdatedAt(column: ColumnName): PropertyDecoratorOf<Date>;
export function UpdatedAt<T extends Date | number>(
  column: ColumnName,
  codec: ValueCodec<T>,
): PropertyDecoratorOf<T>;
export function UpdatedAt(
  column: ColumnName,
  codec: ValueCodec<unknown> = date,
): PropertyDecoratorOf<unknown> {
  return roleDecorator('UpdatedAt', 'updatedAt', column, codec);
}

/**
 * The time at which the entity was deleted: with it `delete`, `deleteMany`, `deletePrefix`, `deleteAll` and their like in batches and
 * behind `check` set this time and leave the row, and reads and updates pass such rows over, unless they say `withDeleted`.
 * `restore` brings one back, `purge` deletes it for good. The entity needs its marker.
 */
export function DeletedAt(column: ColumnName): PropertyDecoratorOf<Date> {
  return roleDecorator('DeletedAt', 'deletedAt', column, date) as PropertyDecoratorOf<Date>;
}

function roleDecorator(
  decorator: string,
  role: ColumnRole,
  column: ColumnName,
  codec: ValueCodec<unknown>,
): PropertyDecoratorOf<unknown> {
  return memberDecorator(decorator, 'field', (declaration, property) => {
    declaration.properties.push({ kind: 'column', decorator, property, column, codec, role });
  });
}

/**
 * A method that runs on the entity before `put`, `insert` and `replace`, ahead of the checks; it may change properties,
 * and may be async. Throwing stops the write. Updates have hooks of their own; `mutate`, `increment` and `append` go
 * beneath hooks. Hooks of base classes run first.
 */
export function BeforePut(): AnyMethodDecorator {
  return hook('BeforePut', 'beforePut');
}

/** A method that runs on the entity when `put`, `insert` or `replace` has taken effect. */
export function AfterPut(): AnyMethodDecorator {
  return hook('AfterPut', 'afterPut');
}

/**
 * A method that runs before `update`, ahead of the checks, on an object of the class that has the key's parts and the
 * properties of the patch, and nothing else; what it sets there is written too. May be async; throwing stops the write.
 */
export function BeforeUpdate(): AnyMethodDecorator {
  return hook('BeforeUpdate', 'beforeUpdate');
}

/** A method that runs when an `update` has taken effect, on an object with the key's parts and what was changed. */
export function AfterUpdate(): AnyMethodDecorator {
  return hook('AfterUpdate', 'afterUpdate');
}

/** A method that runs before `delete`, on an object with the key's parts alone. May be async; throwing stops the delete. */
export function BeforeDelete(): AnyMethodDecorator {
  return hook('BeforeDelete', 'beforeDelete');
}

/** A method that runs when a `delete` has taken effect, on an object with the key's parts alone. */
export function AfterDelete(): AnyMethodDecorator {
  return hook('AfterDelete', 'afterDelete');
}

/** A method that runs on every whole entity that is loaded, before it is handed out. Not run for projections. */
export function AfterLoad(): AnyMethodDecorator {
  return hook('AfterLoad', 'afterLoad');
}

function hook(decorator: string, moment: HookMoment): AnyMethodDecorator {
  return memberDecorator(decorator, 'method', (declaration, method) => {
    declaration.hooks.push({ moment, method });
  });
}
