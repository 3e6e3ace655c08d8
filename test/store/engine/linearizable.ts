/**
 * Whether a history of calls that overlapped has an order that explains every answer (Wing and Gong's search, with
 * Lowe's memory of what was tried): each call takes effect at one moment between its beginning and its end.
 */

export interface Call<Input, Output> {
  readonly input: Input;
  readonly begun: number;
  /** Infinity for a call of which it is not known whether it took effect: it may have, at any time, or never. */
  readonly ended: number;
  /** Undefined when there was no answer. */
  readonly output: Output | undefined;
}

/** What the calls are made on: an object of one thread. */
export interface SequentialObject<State, Input, Output> {
  readonly initial: State;
  apply(state: State, input: Input): { readonly state: State; readonly output: Output };
  /** Equal texts for equal states. */
  key(state: State): string;
  same(expected: Output, found: Output): boolean;
}

export function isLinearizable<State, Input, Output>(
  object: SequentialObject<State, Input, Output>,
  calls: readonly Call<Input, Output>[],
): boolean {
  const sorted = [...calls].sort((a, b) => a.begun - b.begun);
  return new Search(object, sorted).from(object.initial);
}

class Search<State, Input, Output> {
  private readonly done: boolean[];
  private readonly seen = new Set<string>();
  private left: number;

  constructor(
    private readonly object: SequentialObject<State, Input, Output>,
    private readonly calls: readonly Call<Input, Output>[],
  ) {
    this.done = calls.map(() => false);
    // Calls without an answer need not have taken effect.
    this.left = calls.filter(({ output }) => output !== undefined).length;
  }

  from(state: State): boolean {
    if (this.left === 0) return true;
    const key = `${this.done.map(Number).join('')} ${this.object.key(state)}`;
    if (this.seen.has(key)) return false;
    this.seen.add(key);
    // Only calls that began before every other one that is left has ended can be next.
    let firstEnd = Infinity;
    for (const [index, call] of this.calls.entries())
      if (!this.done[index]) firstEnd = Math.min(firstEnd, call.ended);
    for (const [index, call] of this.calls.entries()) {
      if (call.begun > firstEnd) break;
      if (!this.done[index] && this.isNext(index, call, state)) return true;
    }
    return false;
  }

  private isNext(index: number, call: Call<Input, Output>, state: State): boolean {
    const { state: next, output } = this.object.apply(state, call.input);
    if (call.output !== undefined && !this.object.same(output, call.output)) return false;
    const counted = call.output === undefined ? 0 : 1;
    this.done[index] = true;
    this.left -= counted;
    if (this.from(next)) return true;
    this.done[index] = false;
    this.left += counted;
    return false;
  }
}
