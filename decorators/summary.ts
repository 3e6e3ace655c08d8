import { SchemaError } from '../src/errors.js';
import { describe, isRecord } from '../src/table/checks.js';
import type { AnyClass, FigureDefinition, SummaryDeclaration, SummaryDefinition } from './declaration.js';
import { classDecorator } from './modes.js';
import type { RowKeyMistake } from './row-key-types.js';

export type SummaryDefinitions = Readonly<Record<string, SummaryDefinition>>;

/**
 * Maintains figures of groups of rows with every write: counts, sums, averages, minima and maxima
 * (docs/summaries.md). The class lists its summaries so that their results are typed.
 *
 * @example
 * ```ts
 * @Summary('byStatus', { by: ['status'], figures: { orders: 'count', total: { sum: 'total' } } })
 * class Order {
 *   declare static readonly summaries: {
 *     byStatus: { by: ['status']; figures: { orders: 'count'; total: { sum: 'total' } } };
 *   };
 *   …
 * }
 * ```
 */
export function Summary<const Name extends string, const Definition extends SummaryDefinition>(
  name: Name,
  definition: Definition,
): SummaryDecorator<Name, Definition> {
  return classDecorator('Summary', (declaration) => {
    if (typeof definition === 'object' && definition !== null)
      declaration.summaries.push({ name, definition });
    else {
      declaration.problems.push(
        `@Summary(${describe(name)}) takes { by: ['status'], figures: { orders: 'count' } }, not ${describe(definition)}.`,
      );
    }
  });
}

/** The results of {@link summary}. */
const declared = new WeakSet<object>();

/**
 * Declares a summary in the static `summaries` of a class; takes what `@Summary` takes. `@Entity` checks the
 * property names against the class.
 *
 * @example
 * ```ts
 * @Entity({ table: Orders })
 * class Order {
 *   static readonly key = rowKey('id');
 *   static readonly summaries = {
 *     byStatus: summary({ by: ['status'], figures: { orders: 'count', total: { sum: 'total' } } }),
 *   };
 *   …
 * }
 * ```
 * @throws SchemaError when it is no definition.
 */
export function summary<const Definition extends SummaryDefinition>(definition: Definition): Definition {
  if (!isRecord(definition)) {
    throw new SchemaError(
      `summary() takes { by: ['status'], figures: { orders: 'count' } }, not ${describe(definition)}.`,
    );
  }
  const own = Object.freeze({ ...definition });
  declared.add(own);
  return own;
}

/** Returns the class's own summaries in `static readonly summaries = { … }`, made by {@link summary}. */
export function declaredSummaries(target: AnyClass): SummaryDeclaration[] {
  const summaries: unknown = Object.hasOwn(target, 'summaries')
    ? Reflect.get(target, 'summaries')
    : undefined;
  if (!isRecord(summaries)) return [];
  return Object.entries(summaries).flatMap(([name, one]) =>
    isRecord(one) && declared.has(one) ? [{ name, definition: one as unknown as SummaryDefinition }] : [],
  );
}

/** `unknown` when the class has the properties that its summaries name, else a {@link RowKeyMistake}. */
export type CheckedSummaries<C extends { readonly prototype: unknown }> = C extends {
  readonly summaries: infer Summaries;
}
  ? [WrongSummary<C['prototype'], Summaries>] extends [never]
    ? unknown
    : RowKeyMistake<WrongSummary<C['prototype'], Summaries>>
  : unknown;

type WrongSummary<E, Summaries> = {
  [Name in keyof Summaries & string]: Summaries[Name] extends SummaryDefinition
    ? `"${UnknownProperty<E, Summaries[Name]>}" is a property of the summary "${Name}", but the class has no such property`
    : never;
}[keyof Summaries & string];

/** Accepts only classes that list the summary and have the properties that it names. */
export type SummaryDecorator<Name extends string, Definition extends SummaryDefinition> = <
  C extends AnyClass,
>(
  target: C & NoInfer<SummarizedClass<C, Name, Definition>>,
  context?: unknown,
) => void;

/** The constraint on the class. An interface, like `RowKeyClass`. */
export interface SummarizedClass<
  C extends { readonly prototype: unknown },
  Name extends string,
  Definition extends SummaryDefinition,
> {
  readonly prototype: C extends { readonly summaries: { readonly [N in Name]: infer Listed } }
    ? [Listed] extends [Pick<Definition, 'by' | 'figures'>]
      ? [Definition['figures']] extends [Listed['figures']]
        ? [UnknownProperty<C['prototype'], Definition>] extends [never]
          ? unknown
          : RowKeyMistake<`"${UnknownProperty<C['prototype'], Definition>}" is a property of the summary "${Name}", but the class has no such property`>
        : NotListed<Name>
      : NotListed<Name>
    : NotListed<Name>;
}

type NotListed<Name extends string> =
  RowKeyMistake<`The class does not list the summary "${Name}" as it is declared. Write: declare static readonly summaries: { ${Name}: { by: […]; figures: { … } } }`>;

type UnknownProperty<E, Definition extends SummaryDefinition> = Exclude<
  Definition['by'][number] | PropertyOf<Definition['figures'][string]>,
  (keyof E & string) | `${keyof E & string}.${string}`
>;

type PropertyOf<Figure> = Figure extends string ? never : Figure[keyof Figure] & string;

export type { FigureDefinition, SummaryDefinition };
