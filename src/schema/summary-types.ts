/** The types of summaries, which a class lists as `@Summary` declares them. */

import type { FigureDefinition } from '../../decorators/declaration.js';
import type { IndexedValue } from '../../decorators/indexes.js';
import type { IndexTarget, KeyedClass } from './entity-types.js';

/** The names of the summaries that a class lists: `declare static readonly summaries: { byStatus: { by: ['status']; … } }`. */
export type SummaryName<C> = C extends { readonly summaries: infer Summaries }
  ? keyof Summaries & string
  : never;

interface Listed {
  readonly by: readonly string[];
  readonly figures: Readonly<Record<string, FigureDefinition>>;
}

type ListedOf<C, Name> = C extends { readonly summaries: infer Summaries }
  ? Name extends keyof Summaries
    ? Extract<Summaries[Name], Listed>
    : never
  : never;

/** The groups of a summary as a class of its own, whose key they are. */
export type SummaryTargetOf<C extends KeyedClass, Name> = IndexTarget<
  SummaryGroup<C, Name>,
  ListedOf<C, Name>['by']
>;

/** What tells a group from others. */
export type SummaryGroup<C extends KeyedClass, Name> = {
  [P in ListedOf<C, Name>['by'][number]]: IndexedValue<C['prototype'], P>;
};

/** A group with its figures. */
export type SummaryResult<C extends KeyedClass, Name> = SummaryGroup<C, Name> & {
  [Figure in keyof ListedOf<C, Name>['figures']]: FigureValue<
    C['prototype'],
    ListedOf<C, Name>['figures'][Figure]
  >;
};

type FigureValue<E, Figure> = Figure extends 'count' | { readonly count: string }
  ? number
  : Figure extends { readonly avg: string }
    ? number | null
    : Figure extends { readonly sum: infer P extends string }
      ? SumOf<IndexedValue<E, P>>
      : Figure extends { readonly min: infer P extends string } | { readonly max: infer P extends string }
        ? IndexedValue<E, P> | null
        : never;

/** The type of a sum: texts are decimals. */
type SumOf<V> = V extends bigint ? bigint : V extends number ? number : string;
