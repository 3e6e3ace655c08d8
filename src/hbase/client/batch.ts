import { toLatin1 } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { offAbort, onAbort } from './abort.js';
import type { Action, ActionOwner } from './action.js';

/** Actions on one row that may travel together; the next segment of the row begins when all of this have ended. */
interface Segment {
  readonly verb: string;
  readonly actions: Action<unknown>[];
  /** Whether nothing of the row comes before it. */
  readonly isFirst: boolean;
  open: number;
  next: Segment | undefined;
}

/**
 * A batch on its way. Actions of one row take effect in the batch's order. Only runs of gets, of puts or of deletes
 * travel together: within one request a server reads before it writes, and gives a put and a delete the same time, by
 * which the delete wins.
 */
export class Batch implements ActionOwner {
  private readonly segments = new Map<Action<unknown>, Segment>();
  private finish: () => void = () => undefined;
  private open = 0;

  constructor(
    private readonly submit: (action: Action<unknown>) => void,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Submits `actions` and waits until each has ended, well or not. */
  run(actions: readonly Action<unknown>[]): Promise<void> {
    if (actions.length === 0) return Promise.resolve();
    this.open = actions.length;
    for (const action of actions) action.owner = this;
    const done = new Promise<void>((resolve) => {
      this.finish = resolve;
    });
    const { signal } = this;
    const abort = (): void => {
      for (const action of actions) {
        const message = `The batch was aborted by its AbortSignal before its ${action.verb} had ended.`;
        action.fail(new RowanError('ERR_ABORTED', message, { cause: signal?.reason }));
      }
    };
    if (signal !== undefined) onAbort(signal, abort);
    for (const action of this.firstOfEachRow(actions)) this.submit(action);
    if (signal === undefined) return done;
    return done.finally(() => offAbort(signal, abort));
  }

  actionDone(action: Action<unknown>): void {
    const segment = this.segments.get(action);
    if (segment !== undefined && --segment.open === 0 && segment.next !== undefined) {
      for (const following of segment.next.actions) this.submit(following);
    }
    if (--this.open === 0) this.finish();
  }

  /** Puts the actions of each row in order; answers those that need not wait. */
  private firstOfEachRow(actions: readonly Action<unknown>[]): readonly Action<unknown>[] {
    const verb = actions[0]!.verb;
    if (isTogether(verb) && actions.every((action) => action.verb === verb)) return actions;
    const last = new Map<string, Segment>();
    const first: Action<unknown>[] = [];
    for (const action of actions) {
      const row = toLatin1(action.row);
      const before = last.get(row);
      let segment = before;
      if (segment === undefined || segment.verb !== action.verb || !isTogether(action.verb)) {
        segment = { verb: action.verb, actions: [], isFirst: before === undefined, open: 0, next: undefined };
        last.set(row, segment);
        if (before !== undefined) before.next = segment;
      }
      if (segment.isFirst) first.push(action);
      segment.actions.push(action);
      segment.open++;
      this.segments.set(action, segment);
    }
    return first;
  }
}

function isTogether(verb: string): boolean {
  return verb === 'get' || verb === 'put' || verb === 'delete';
}
