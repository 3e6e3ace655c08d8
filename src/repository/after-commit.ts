/** Hooks and object updates after a write has taken effect, or after the commit of its transaction. */

import type { EntityLifecycle, EntitySchema } from '../schema/types.js';
import type { Change, ChangeOperation, Deferred } from './change.js';
import type { VersionLock } from './version-lock.js';

type Entity = Record<string, unknown>;

export class AfterCommit {
  private readonly lifecycle: EntityLifecycle;

  constructor(
    schema: EntitySchema,
    private readonly lock: VersionLock | undefined,
    /** The transaction that delays this work. Undefined: it runs at once. */
    private readonly deferred: Deferred | undefined,
  ) {
    this.lifecycle = schema.lifecycle;
  }

  /** After the write of an entity: increments its version property, then runs `@AfterPut`. */
  afterWrite(
    operation: ChangeOperation,
    entity: Entity,
    failed: (() => void) | undefined,
  ): Change['onApplied'] {
    const { lock, deferred } = this;
    const { afterWrite } = this.lifecycle;
    const after = afterWrite && (() => afterWrite(entity));
    if (lock === undefined)
      return deferred && failed
        ? () => deferred.add({ operation, undo: failed, after })
        : this.hook(operation, after);
    const { property } = lock;
    const before = entity[property];
    const next = lock.next(before);
    return () => {
      entity[property] = next;
      if (deferred === undefined) return after?.();
      const undo = (): void => {
        entity[property] = before;
        failed?.();
      };
      deferred.add({ operation, undo, after });
    };
  }

  /** Runs a hook after the write, or after the commit of its transaction. */
  hook(operation: ChangeOperation, after: Change['onApplied']): Change['onApplied'] {
    const { deferred } = this;
    if (after === undefined || deferred === undefined) return after;
    return () => deferred.add({ operation, undo: undefined, after });
  }
}
