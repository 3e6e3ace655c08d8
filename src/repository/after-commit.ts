/** Work behind a write that has taken effect, or behind the transaction that it is part of. */

import type { EntityLifecycle, EntitySchema } from '../schema/types.js';
import type { Change, ChangeOperation, Deferred } from './change.js';
import type { VersionLock } from './version-lock.js';

type Entity = Record<string, unknown>;

export class AfterCommit {
  private readonly lifecycle: EntityLifecycle;

  constructor(
    schema: EntitySchema,
    private readonly lock: VersionLock | undefined,
    /** Where what follows a write waits; undefined: it does not. */
    private readonly deferred: Deferred | undefined,
  ) {
    this.lifecycle = schema.lifecycle;
  }

  /** Of a write of a whole entity: counts its version up, then runs `@AfterPut`. */
  afterWrite(
    operation: ChangeOperation,
    entity: Entity,
    failed: (() => void) | undefined,
  ): Change['settled'] {
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

  /** A hook that follows the write, or the transaction that it is part of. */
  hook(operation: ChangeOperation, after: Change['settled']): Change['settled'] {
    const { deferred } = this;
    if (after === undefined || deferred === undefined) return after;
    return () => deferred.add({ operation, undo: undefined, after });
  }
}
