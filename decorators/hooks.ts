import type { HookMoment } from './declaration.js';
import { type AnyMethodDecorator, memberDecorator } from './modes.js';

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
