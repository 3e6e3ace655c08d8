/** Hooks, timestamps and checks of one entity, compiled to the functions that a repository calls. */

import type {
  CheckDeclaration,
  HookMoment,
  PropertyDeclaration,
  ValidatorIssue,
} from '../../decorators/index.js';
import { InvalidArgumentError } from '../errors.js';
import type { CollectedEntity } from './collect.js';
import type { EntityLifecycle, WriteOperation } from './types.js';

type Entity = Record<string, unknown>;
type Hook = (entity: object) => void | Promise<void>;

export function compileLifecycle(source: CollectedEntity): EntityLifecycle {
  return Object.freeze({
    beforeWrite: beforeWriteOf(source),
    beforeUpdate: hooksOf(source, 'beforeUpdate'),
    afterUpdate: hooksOf(source, 'afterUpdate'),
    beforeDelete: hooksOf(source, 'beforeDelete'),
    afterDelete: hooksOf(source, 'afterDelete'),
    stamped: Object.freeze([
      ...source.defaults.map(({ property }) => property),
      ...source.properties.filter(isStamp).map(({ property }) => property),
    ]),
    afterWrite: hooksOf(source, 'afterPut'),
    afterLoad: hooksOf(source, 'afterLoad'),
  });
}

function isStamp(property: PropertyDeclaration): boolean {
  return property.kind === 'column' && (property.role === 'createdAt' || property.role === 'updatedAt');
}

/** The methods of one moment, one after the other; a method is looked up on the class, not on the object. */
function hooksOf(source: CollectedEntity, moment: HookMoment): Hook | undefined {
  const found = new Set(source.hooks.filter((hook) => hook.moment === moment).map(({ method }) => method));
  const methods = [...found].map((method) => {
    if (typeof method === 'string')
      return Reflect.get(source.target.prototype as object, method) as () => unknown;
    return function (this: object): unknown {
      return method(this);
    };
  });
  if (methods.length === 0) return undefined;
  return (entity) => inTurn(methods, (method) => method.call(entity));
}

function beforeWriteOf(source: CollectedEntity): EntityLifecycle['beforeWrite'] {
  const hooks = hooksOf(source, 'beforePut');
  const { checks } = source;
  const defaults = defaultsOf(source);
  const created = stampOf(source, 'createdAt');
  const updated = stampOf(source, 'updatedAt');
  if (!hooks && !defaults && checks.length === 0 && created === undefined && updated === undefined) {
    return undefined;
  }
  const stampAndCheck = (entity: Entity, operation: WriteOperation, now: number): void | Promise<void> => {
    if (operation === 'insert') created?.(entity, now, false);
    updated?.(entity, now, true);
    if (checks.length > 0) return runChecks(source.name, checks, entity, operation);
  };
  return (entity, operation, now) => {
    defaults?.(entity, operation);
    const done = operation === 'update' ? undefined : hooks?.(entity);
    return done instanceof Promise
      ? done.then(() => stampAndCheck(entity, operation, now))
      : stampAndCheck(entity, operation, now);
  };
}

/** Sets the defaults of properties that are undefined: of key parts in every whole entity, of columns in new ones. */
function defaultsOf(
  source: CollectedEntity,
): ((entity: Entity, operation: WriteOperation) => void) | undefined {
  const { defaults } = source;
  if (defaults.length === 0) return undefined;
  const parts = new Set(source.elements.flatMap(({ parts: names }) => names as readonly string[]));
  return (entity, operation) => {
    if (operation === 'update') return;
    for (const { property, make } of defaults) {
      if (entity[property] === undefined && (operation !== 'put' || parts.has(property))) {
        entity[property] = make();
      }
    }
  };
}

type Stamp = (entity: Entity, now: number, overwrite: boolean) => void;

/** Sets the property of a role to the time, a Date or, where the codec takes none, milliseconds. */
function stampOf(source: CollectedEntity, role: 'createdAt' | 'updatedAt'): Stamp | undefined {
  const declared = source.properties.find((property) => property.kind === 'column' && property.role === role);
  if (declared?.kind !== 'column') return undefined;
  const { property, codec } = declared;
  let asDate = true;
  try {
    codec?.encode(new Date(0));
  } catch {
    asDate = false;
  }
  return (entity, now, overwrite) => {
    const empty = entity[property] === undefined || entity[property] === null;
    if (overwrite || empty) entity[property] = asDate ? new Date(now) : now;
  };
}

interface FoundIssue {
  readonly path: string;
  readonly message: string;
}

function runChecks(
  name: string,
  checks: readonly CheckDeclaration[],
  entity: Entity,
  operation: WriteOperation,
): void | Promise<void> {
  const issues: FoundIssue[] = [];
  const done = inTurn(checks, ({ property, validator }) => {
    const value = property === undefined ? entity : entity[property];
    if (value === undefined || value === null || (property === undefined && operation === 'update')) return;
    const result = validator['~standard'].validate(value);
    const gather = ({ issues: found }: { readonly issues?: readonly ValidatorIssue[] | undefined }): void => {
      for (const issue of found ?? []) issues.push({ path: pathOf(property, issue), message: issue.message });
    };
    return result instanceof Promise ? result.then(gather) : gather(result);
  });
  return done instanceof Promise ? done.then(() => refuse(name, issues)) : refuse(name, issues);
}

function refuse(name: string, issues: readonly FoundIssue[]): void {
  if (issues.length === 0) return;
  const texts = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  throw new InvalidArgumentError(
    `Entity "${name}" was not written, its checks refuse it. ${texts.join('; ')}`,
    {
      details: { entity: name, property: issues[0]!.path, issues: Object.freeze([...issues]) },
    },
  );
}

function pathOf(property: string | undefined, issue: ValidatorIssue): string {
  const inner = (issue.path ?? []).map((step) => String(typeof step === 'object' ? step.key : step));
  return [...(property === undefined ? [] : [property]), ...inner].join('.');
}

/** Runs `step` for each item, waiting only for those that answer promises. */
function inTurn<T>(items: readonly T[], step: (item: T) => unknown): void | Promise<void> {
  for (let i = 0; i < items.length; i++) {
    const done = step(items[i]!);
    if (done instanceof Promise) return done.then(() => inTurn(items.slice(i + 1), step));
  }
}
