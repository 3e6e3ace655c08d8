import { date, int53, type ValueCodec } from '../src/codec/index.js';
import type { ColumnName, ColumnRole, HookMoment } from './declaration.js';
import { type AnyMethodDecorator, memberDecorator, type PropertyDecoratorOf } from './modes.js';

/**
 * Optimistic locking: a version number that every write increments. A put whose version differs from the
 * stored one throws a ConflictError; leave it undefined for a new entity.
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
 * The time at which the entity was inserted. `insert` sets it if it is undefined. A put does not know whether
 * the entity is new, and leaves it alone.
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

/** The time of the last put, insert, replace or update. The repository sets it. */
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
 * Soft delete. `delete`, `deleteMany`, `deletePrefix`, `deleteAll` and their forms in batches and after
 * `check` store this time and keep the row. Reads and updates skip such rows unless they say `withDeleted`.
 * `restore` brings a row back, `purge` deletes it for good. The entity needs its row marker.
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
 * Runs the method on the entity before `put`, `insert` and `replace`, before validation. It may change
 * properties and may be async; throwing cancels the write. Updates have their own hooks; `mutate`,
 * `increment` and `append` run no hooks. Hooks of base classes run first.
 */
export function BeforePut(): AnyMethodDecorator {
  return hook('BeforePut', 'beforePut');
}

/** Runs the method on the entity after `put`, `insert` or `replace` has taken effect. */
export function AfterPut(): AnyMethodDecorator {
  return hook('AfterPut', 'afterPut');
}

/**
 * Runs the method before `update`, before validation, on an object of the class that has only the key parts
 * and the properties of the patch. Properties that it sets are written too. It may be async; throwing cancels
 * the write.
 */
export function BeforeUpdate(): AnyMethodDecorator {
  return hook('BeforeUpdate', 'beforeUpdate');
}

/**
 * Runs the method after an `update` has taken effect, on an object with the key parts and the changed
 * properties.
 */
export function AfterUpdate(): AnyMethodDecorator {
  return hook('AfterUpdate', 'afterUpdate');
}

/**
 * Runs the method before `delete`, on an object with only the key parts. It may be async; throwing cancels
 * the delete.
 */
export function BeforeDelete(): AnyMethodDecorator {
  return hook('BeforeDelete', 'beforeDelete');
}

/** Runs the method after a `delete` has taken effect, on an object with only the key parts. */
export function AfterDelete(): AnyMethodDecorator {
  return hook('AfterDelete', 'afterDelete');
}

/**
 * Runs the method on every complete entity that is loaded, before the caller receives it. It does not run for
 * projections.
 */
export function AfterLoad(): AnyMethodDecorator {
  return hook('AfterLoad', 'afterLoad');
}

/** The moments of hooks. */
export const HOOK_MOMENTS: Readonly<Record<HookMoment, true>> = {
  beforePut: true,
  afterPut: true,
  beforeUpdate: true,
  afterUpdate: true,
  beforeDelete: true,
  afterDelete: true,
  afterLoad: true,
};

function hook(decorator: string, moment: HookMoment): AnyMethodDecorator {
  return memberDecorator(decorator, 'method', (declaration, method) => {
    declaration.hooks.push({ moment, method });
  });
}
