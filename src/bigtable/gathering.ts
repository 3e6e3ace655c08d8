/** The most calls that share a request. Further calls are sent in parallel requests. */
const MAX_CALLS = 100;

interface Waiting<T, R> {
  readonly asked: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Batches the calls of one turn of the event loop, so that concurrent reads, or small changes, of one process share
 * requests. A single call waits only for the end of the turn.
 */
export class Gathering<T extends { readonly row: Uint8Array }, R> {
  private waiting: Waiting<T, R>[] = [];

  /**
   * @param make Makes one or more calls with one request; returns the outcome of each, in order.
   * @param nameOf Calls with the same name never share a request. Undefined: any may.
   */
  constructor(
    private readonly make: (asked: readonly T[]) => Promise<readonly PromiseSettledResult<R>[]>,
    private readonly nameOf?: (asked: T) => string,
  ) {}

  /** Makes a call at the end of this turn. @throws what it failed with. */
  add(asked: T): Promise<R> {
    if (this.waiting.length === 0) setImmediate(() => this.send());
    return new Promise((resolve, reject) => this.waiting.push({ asked, resolve, reject }));
  }

  private send(): void {
    let left = this.waiting;
    this.waiting = [];
    while (left.length > 0) {
      const [part, rest] = this.split(left);
      void this.sendPart(part);
      left = rest;
    }
  }

  /** The calls of the next request, and the others. */
  private split(all: Waiting<T, R>[]): [Waiting<T, R>[], Waiting<T, R>[]] {
    const { nameOf } = this;
    if (nameOf === undefined || all.length === 1) return [all.slice(0, MAX_CALLS), all.slice(MAX_CALLS)];
    const names = new Set<string>();
    const part: Waiting<T, R>[] = [];
    const rest: Waiting<T, R>[] = [];
    for (const each of all) {
      const name = nameOf(each.asked);
      if (part.length === MAX_CALLS || names.has(name)) rest.push(each);
      else part.push(each);
      names.add(name);
    }
    return [part, rest];
  }

  private async sendPart(part: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const outcomes = await this.make(part.map(({ asked }) => asked));
      for (const [at, outcome] of outcomes.entries()) {
        if (outcome.status === 'fulfilled') part[at]!.resolve(outcome.value);
        else part[at]!.reject(outcome.reason);
      }
    } catch (error) {
      for (const { reject } of part) reject(error);
    }
  }
}
