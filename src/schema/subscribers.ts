/** Hooks that stand outside of the entities whose writes and reads they are told of. */

import { classChain, type HookDeclaration, type HookMoment } from '../../decorators/index.js';
import { describe } from '../table/checks.js';
import type { Problems } from './problems.js';

/**
 * What is told of the writes and reads of entities without being part of their classes: an audit, a cache, a search index.
 * Its hooks are those of the entities (`@BeforePut` and so on) and run after them, in the order of `subscribers`; they may be
 * async, may change what is written before a write, and throwing there stops it.
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
  /** The class whose entities, and those of classes that extend it, are told of. Default: all. */
  readonly listensTo?: (abstract new (...args: never[]) => E) | undefined;
  beforePut?(entity: E): void | Promise<void>;
  afterPut?(entity: E): void | Promise<void>;
  /** On an object with the key and the patch; what is set there is written. */
  beforeUpdate?(entity: E): void | Promise<void>;
  afterUpdate?(entity: E): void | Promise<void>;
  /** On an object with the key. */
  beforeDelete?(entity: E): void | Promise<void>;
  afterDelete?(entity: E): void | Promise<void>;
  afterLoad?(entity: E): void | Promise<void>;
}

const MOMENTS: readonly HookMoment[] = Object.keys({
  beforePut: true,
  afterPut: true,
  beforeUpdate: true,
  afterUpdate: true,
  beforeDelete: true,
  afterDelete: true,
  afterLoad: true,
} satisfies Record<HookMoment, true>) as HookMoment[];

/** What subscribers add to the hooks of a class. */
export function subscribedHooks(
  target: abstract new (...args: never[]) => object,
  subscribers: readonly EntitySubscriber[],
): HookDeclaration[] {
  return subscribers.filter((subscriber) => isTold(subscriber, target)).flatMap(hooksOf);
}

function hooksOf(subscriber: EntitySubscriber): HookDeclaration[] {
  return MOMENTS.filter((moment) => subscriber[moment] !== undefined).map((moment) => ({
    moment,
    method: (entity: object) => subscriber[moment]!(entity),
  }));
}

function isTold({ listensTo }: EntitySubscriber, target: object): boolean {
  return listensTo === undefined || (classChain(target as never) as readonly object[]).includes(listensTo);
}

/** Adds what is wrong with subscribers, and which are told of nothing. */
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

function mistakeOf(given: unknown, targets: readonly object[]): [rule: string, mend: string] | undefined {
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
  if (targets.some((target) => isTold(subscriber, target))) return undefined;
  return [
    `It listens to ${listensTo?.name ?? 'entities'}, which none of the entities is or extends.`,
    'Add the class to the entities, or leave the subscriber out.',
  ];
}
