import { describe } from '../src/table/checks.js';
import type { AnyClass, FigureDefinition, SummaryDefinition } from './declaration.js';
import { classDecorator } from './modes.js';
import type { RowKeyMistake } from './row-key.js';

export type SummaryDefinitions = Readonly<Record<string, SummaryDefinition>>;

/**
 * Figures of groups of rows, kept with every write: counts, sums, averages, least and greatest values (docs/summaries.md).
 * The class lists its summaries, so that what they answer is typed. Embedded engine only.
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

/** Accepts only classes that list the summary, and have the properties that it names. */
export type SummaryDecorator<Name extends string, Definition extends SummaryDefinition> = <
  C extends AnyClass,
>(
  target: C & NoInfer<SummarizedClass<C, Name, Definition>>,
  context?: unknown,
) => void;

/** What the class must be. An interface, as `RowKeyClass`. */
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
