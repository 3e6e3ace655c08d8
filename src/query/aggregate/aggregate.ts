/** Works on the values of one group. */
export interface Fold<T> {
  add(entity: Readonly<Record<string, unknown>>): void;
  result(): T;
}

/** One figure to be worked out. Made by the functions of {@link Aggregates}. */
export class Aggregate<T> {
  constructor(
    /** The property that is read; undefined: only the row itself. */
    readonly property: string | undefined,
    readonly start: () => Fold<T>,
  ) {}
}
