import { randomBytes } from 'node:crypto';
import {
  type CheckDeclaration,
  classChain,
  HOOK_MOMENTS,
  type HookDeclaration,
  type HookMoment,
  type PropertyDeclaration,
  type ValidatorIssue,
} from '../../decorators/index.js';
import { InvalidArgumentError } from '../errors.js';
import { CROCKFORD } from '../key/codecs/ids.js';
import { describe } from '../table/checks.js';
import type { CollectedEntity } from './collect.js';
import type { Problems } from './problems.js';
import type { ColumnSchema, EntityLifecycle, EntitySchema, TimeToLive, WriteOperation } from './types.js';

type Entity = Record<string, unknown>;
type Hook = (entity: object) => void | Promise<void>;

/** Compiles hooks, timestamps and checks of an entity to the functions that repositories call. */
export function compileLifecycle(source: CollectedEntity): EntityLifecycle {
  return Object.freeze({
    beforeWrite: beforeWriteOf(source),
    check:
      source.checks.length === 0
        ? undefined
        : (values: Readonly<Entity>) => runChecks(source.name, source.checks, values, 'update'),
    checked: new Set(source.checks.flatMap(({ property }) => property ?? [])),
    beforeUpdate: hooksOf(source, 'beforeUpdate'),
    afterUpdate: hooksOf(source, 'afterUpdate'),
    beforeDelete: hooksOf(source, 'beforeDelete'),
    afterDelete: hooksOf(source, 'afterDelete'),
    stamped: Object.freeze([
      ...source.defaults.map(({ property }) => property),
      ...source.properties.filter(isStamp).map(({ property }) => property),
    ]),
    updatedProperty: source.properties.find(
      (property) => property.kind === 'column' && property.role === 'updatedAt',
    )?.property,
    afterWrite: hooksOf(source, 'afterPut'),
    afterLoad: hooksOf(source, 'afterLoad'),
  });
}

function isStamp(property: PropertyDeclaration): boolean {
  return property.kind === 'column' && (property.role === 'createdAt' || property.role === 'updatedAt');
}

/** The hook methods of one moment, in order. A method is looked up on the class, not on the object. */
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

/** Sets defaults of undefined properties: of key parts in every whole entity, of columns in new ones. */
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

/** Sets the property of a role to the time: a Date, or milliseconds where the codec takes numbers. */
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
  entity: Readonly<Entity>,
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

/** Runs `step` for each item. Awaits only promises. */
function inTurn<T>(items: readonly T[], step: (item: T) => unknown): void | Promise<void> {
  for (let i = 0; i < items.length; i++) {
    const done = step(items[i]!);
    if (done instanceof Promise) return done.then(() => inTurn(items.slice(i + 1), step));
  }
}

// — Subscribers: hooks outside of entity classes.

/**
 * A subscriber to the writes and reads of entities, outside of their classes: an audit, a cache, a search index. Its
 * hooks are those of entities (`@BeforePut` and so on), and run after them, in the order of `subscribers`. They may
 * be async. Hooks before a write may change the entity, and stop the write by throwing.
 *
 * @example
 * ```ts
 * class Audit implements EntitySubscriber<Order> {
 *   readonly listensTo = Order;
 *   afterPut(order: Order): void {
 *     console.log(order.orderNo);
 *   }
 * }
 * const db = await open({ path, entities: [Order], subscribers: [new Audit()] });
 * ```
 */
export interface EntitySubscriber<E extends object = object> {
  /** The class whose entities, including those of its subclasses, the subscriber receives. Default: all entities. */
  readonly listensTo?: (abstract new (...args: never[]) => E) | undefined;
  beforePut?(entity: E): void | Promise<void>;
  afterPut?(entity: E): void | Promise<void>;
  /** Called with an object that has the key and the patch. Values that it sets are written. */
  beforeUpdate?(entity: E): void | Promise<void>;
  afterUpdate?(entity: E): void | Promise<void>;
  /** Called with an object that has the key. */
  beforeDelete?(entity: E): void | Promise<void>;
  afterDelete?(entity: E): void | Promise<void>;
  afterLoad?(entity: E): void | Promise<void>;
}

const MOMENTS: readonly HookMoment[] = Object.keys(HOOK_MOMENTS) as HookMoment[];

/** The hooks of a class that subscribers add. */
export function subscribedHooks(
  target: abstract new (...args: never[]) => object,
  subscribers: readonly EntitySubscriber[],
): HookDeclaration[] {
  return subscribers.filter((subscriber) => isInterested(subscriber, target)).flatMap(subscriberHooks);
}

function subscriberHooks(subscriber: EntitySubscriber): HookDeclaration[] {
  return MOMENTS.filter((moment) => subscriber[moment] !== undefined).map((moment) => ({
    moment,
    method: (entity: object) => subscriber[moment]!(entity),
  }));
}

function isInterested({ listensTo }: EntitySubscriber, target: object): boolean {
  return listensTo === undefined || (classChain(target as never) as readonly object[]).includes(listensTo);
}

/** Reports invalid subscribers, and those that match no entity. */
export function checkSubscribers(
  subscribers: readonly EntitySubscriber[],
  targets: readonly object[],
  problems: Problems,
): readonly EntitySubscriber[] {
  if (!Array.isArray(subscribers)) {
    problems.add('subscribers', undefined, `They are ${describe(subscribers)}.`, 'Give a list of objects.');
    return [];
  }
  const sound = subscribers.filter((subscriber: unknown, index) => {
    const wrong = mistakeOf(subscriber, targets);
    if (wrong !== undefined) problems.add(`subscribers[${index}]`, undefined, ...wrong);
    return wrong === undefined;
  });
  return Object.freeze(sound as EntitySubscriber[]);
}

function mistakeOf(given: unknown, targets: readonly object[]): [rule: string, remedy: string] | undefined {
  if (typeof given !== 'object' || given === null)
    return [`It is ${describe(given)}.`, 'Give an object with hooks, { afterPut(entity) {} }.'];
  const subscriber = given as EntitySubscriber;
  const { listensTo } = subscriber;
  const hooks = MOMENTS.filter((moment) => subscriber[moment] !== undefined);
  const none = hooks.find((moment) => typeof subscriber[moment] !== 'function');
  if (none !== undefined) return [`Its ${none} is ${describe(subscriber[none])}.`, 'Give a function.'];
  if (hooks.length === 0) return ['It has no hook.', `Give it one of ${MOMENTS.join(', ')}.`];
  if (listensTo !== undefined && typeof listensTo !== 'function')
    return [`It listens to ${describe(listensTo)}.`, 'Give a class, or leave it out for all entities.'];
  if (targets.some((target) => isInterested(subscriber, target))) return undefined;
  return [
    `It listens to ${listensTo?.name ?? 'entities'}, which none of the entities is or extends.`,
    'Add the class to the entities, or leave the subscriber out.',
  ];
}

// — Ids that rise with time, for `@Default` of key parts.

/** The random bits of an id. Within a millisecond they are incremented, so that ids of one process always rise. */
class RisingBits {
  private time = -1;
  private low: bigint = 0n;

  constructor(private readonly bits: bigint) {}

  next(now: number): { readonly time: number; readonly low: bigint } {
    if (now > this.time) {
      this.time = now;
      // The highest bit is 0, so that increments do not overflow.
      this.low = BigInt(`0x${randomBytes(10).toString('hex')}`) & ((1n << (this.bits - 1n)) - 1n);
    } else {
      this.low += 1n;
    }
    return { time: this.time, low: this.low };
  }
}

const uuidBits = new RisingBits(74n);
const ulidBits = new RisingBits(80n);

/**
 * A UUID of version 7 (RFC 9562): 48 bits of milliseconds, then 74 random ones. Ids of one process rise, also within a
 * millisecond and when the clock steps back.
 */
export function newUuid(): string {
  const { time, low } = uuidBits.next(Date.now());
  const a = low >> 62n;
  const b = low & ((1n << 62n) - 1n);
  const value = (BigInt(time) << 80n) | (7n << 76n) | (a << 64n) | (2n << 62n) | b;
  const hex = value.toString(16).padStart(32, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** A ULID: 48 bits of milliseconds and 80 random ones as 26 characters of Crockford's base 32, rising as `newUuid`. */
export function newUlid(): string {
  const { time, low } = ulidBits.next(Date.now());
  let value = (BigInt(time) << 80n) | low;
  let out = '';
  for (let i = 0; i < 26; i++) {
    out = CROCKFORD[Number(value & 31n)] + out;
    value >>= 5n;
  }
  return out;
}

/**
 * The columns that a put may set: not those that Rowan sets (versions, times of deletion, copies, computed ones), nor counters,
 * histories and packed columns.
 */
export function givenColumns(schema: EntitySchema): ColumnSchema[] {
  const own = [...schema.copies.flatMap(({ fields }) => fields), ...schema.computed];
  const copied = new Set(own.map(({ column }) => column));
  return schema.columns.filter(
    (column) =>
      (column.kind === 'column' || column.kind === 'columns') &&
      column.window === undefined &&
      column.property !== schema.versionProperty &&
      column.property !== schema.deletedProperty &&
      !copied.has(column),
  );
}

/** Compiles `@Entity({ ttl, renewTtl })` and `@Ttl`. */
export function timeToLiveOf(source: CollectedEntity, problems: Problems): TimeToLive {
  const { ttl } = source.declaration;
  if (ttl !== undefined && (!Number.isSafeInteger(ttl) || ttl <= 0)) {
    problems.add(
      source.name,
      undefined,
      `Its ttl is ${typeof ttl === 'number' ? ttl : describe(ttl)}.`,
      'Give a whole number of milliseconds above 0, or leave it out.',
    );
  }
  const [property, second] = source.ttls;
  if (second !== undefined) {
    problems.add(
      source.name,
      second,
      `It is the second property with @Ttl; the first is "${property}".`,
      'Leave one.',
    );
  }
  if (source.properties.some((stored) => stored.property === property)) {
    problems.add(
      source.name,
      property,
      'It has @Ttl and is stored as well.',
      'Put @Ttl on a property of its own: it is not stored.',
    );
  }
  const { renewTtl = false, marker } = source.declaration;
  const ends = property !== undefined || ttl !== undefined;
  if (renewTtl && !ends) {
    problems.add(
      source.name,
      undefined,
      'It has renewTtl, and nothing to renew.',
      'Give @Entity({ ttl }) or a property with @Ttl.',
    );
  }
  return Object.freeze({ property, milliseconds: ttl, renew: renewTtl, lifelong: ends && marker !== false });
}
