import type { HookMoment } from './declaration.js';
import { type AnyMethodDecorator, memberDecorator } from './modes.js';

/**
 * A method that runs on the entity before `put`, `insert` and `replace`, ahead of the checks; it may change properties,
 * and may be async. Throwing stops the write. Not run for `update` and `mutate`, which have no whole entity. Hooks of
 * base classes run first.
 */
export function BeforePut(): AnyMethodDecorator {
  return hook('BeforePut', 'beforePut');
}

/** A method that runs on the entity when `put`, `insert` or `replace` has taken effect. */
export function AfterPut(): AnyMethodDecorator {
  return hook('AfterPut', 'afterPut');
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
