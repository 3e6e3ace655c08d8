import type { StoredCell } from './cells.js';
import { ModelFilter, PASS, type Verdict } from './verdict.js';

/** A filter made of its parts; `state` is made anew between rows. */
class PlainFilter<S> extends ModelFilter {
  private state: S;
  constructor(
    private readonly initial: () => S,
    private readonly parts: {
      see?: (cell: StoredCell, state: S) => Verdict;
      key?: (row: string, state: S) => boolean;
      isDone?: (state: S) => boolean;
      value?: (value: string) => string;
      keep?: (cells: StoredCell[], state: S) => StoredCell[];
      row?: (state: S) => boolean;
      wholeRows?: boolean;
    },
  ) {
    super();
    this.state = initial();
  }
  override reset(): void {
    this.state = this.initial();
  }
  override get done(): boolean {
    return this.parts.isDone?.(this.state) ?? false;
  }
  override dropKey(row: string): boolean {
    return this.parts.key?.(row, this.state) ?? false;
  }
  override see(cell: StoredCell): Verdict {
    return this.parts.see?.(cell, this.state) ?? PASS;
  }
  override value(value: string): string {
    return this.parts.value?.(value) ?? value;
  }
  override get wholeRows(): boolean {
    return this.parts.wholeRows ?? false;
  }
  override keep(cells: StoredCell[]): StoredCell[] {
    return this.parts.keep?.(cells, this.state) ?? cells;
  }
  override dropRow(): boolean {
    return this.parts.row?.(this.state) ?? false;
  }
}

export function make<S>(...parts: ConstructorParameters<typeof PlainFilter<S>>): ModelFilter {
  return new PlainFilter(...parts);
}

/** `WhileMatchFilter` and `SkipFilter`. */
export class Around extends ModelFilter {
  private failed = false;
  constructor(
    private readonly kind: 'while' | 'skip',
    private readonly inner: ModelFilter,
  ) {
    super();
  }
  override reset(): void {
    this.inner.reset();
    if (this.kind === 'skip') this.failed = false;
  }
  override get done(): boolean {
    return this.kind === 'while' && (this.failed || this.inner.done);
  }
  override dropKey(row: string): boolean {
    if (this.kind === 'skip') return false;
    const drop = this.done || this.inner.dropKey(row);
    this.failed ||= drop;
    return drop;
  }
  override see(cell: StoredCell): Verdict {
    const verdict = this.inner.see(cell);
    this.failed ||= !verdict.pass || verdict.next !== 'cell';
    return verdict;
  }
  override value(value: string): string {
    return this.inner.value(value);
  }
  override get wholeRows(): boolean {
    return true;
  }
  override dropRow(): boolean {
    if (this.kind === 'skip') return this.failed;
    const drop = this.inner.dropRow();
    this.failed ||= drop;
    return drop;
  }
}
