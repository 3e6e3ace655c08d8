/**
 * Compiles `@Summary` declarations: groups, figures, and the indexes that hold least and greatest values. Also the types of
 * groups and results, inferred from what a class lists.
 */

import type { FigureDefinition, SummaryDefinition } from '../../../decorators/declaration.js';
import type { IndexDeclaration, SummaryDeclaration } from '../../../decorators/index.js';
import type { IndexedValue } from '../../../decorators/indexes.js';
import { BaseCodec } from '../../key/codecs/index.js';
import { compileKeyLayout, type KeyLayout, literal, part, uint8 } from '../../key/index.js';
import type { CollectedEntity } from '../../schema/collect.js';
import { digestOf, isList, NAME_PATTERN, partCodec, textOf, versionMark } from '../../schema/derived.js';
import type { IndexTarget, KeyedClass, Shown } from '../../schema/entity-types.js';
import type { FeatureCompiler, FeatureOwner, FeaturePart } from '../../schema/feature-part.js';
import type { Problems } from '../../schema/problems.js';
import { sumKindOf } from '../../schema/sum-kinds.js';
import {
  ALL_PART,
  type EntitySchema,
  type FigureSchema,
  isSingleCell,
  type MeasuredSchema,
  type SummarySchema,
} from '../../schema/types.js';
import { describe, isRecord } from '../../table/checks.js';
import { FOREVER } from '../../table/index.js';

const KINDS: readonly string[] = ['count', 'sum', 'avg', 'min', 'max'] satisfies FigureSchema['kind'][];
const OPTIONS: Readonly<Record<keyof SummaryDefinition, true>> = { by: true, figures: true, where: true };
/** The limit of a one-byte number in the qualifier. */
const MAX_MEASURED = 250;
/** The purpose of the indexes, for messages. */
const PURPOSE = 'holds the least and greatest values of a summary';

/** The summaries' part of schema compilation. */
export const summaryCompiler: FeatureCompiler = { compile: compileSummaries, check: checkSummaries };

/** Compiles the summaries of one entity, and the indexes that hold their least and greatest values. */
function compileSummaries(source: CollectedEntity, owner: FeatureOwner, problems: Problems): FeaturePart {
  const names = new Set<string>();
  const summaries: SummarySchema[] = [];
  const indexes = new Map<string, IndexDeclaration>();
  for (const declaration of source.summaries) {
    const before = problems.count;
    const compiler = new SummaryCompiler(source, owner, declaration, problems);
    const summary = compiler.compile();
    if (names.has(declaration.name)) compiler.problem('Two summaries have this name.', 'Give one another.');
    names.add(declaration.name);
    if (summary === undefined || problems.count > before) continue;
    summaries.push(summary);
    for (const index of compiler.indexes.values()) indexes.set(index.name, index);
  }
  const needed = [...indexes.values()].map((declaration) => ({ declaration, purpose: PURPOSE }));
  return { indexes: () => needed, schema: () => ({ summaries: Object.freeze(summaries) }) };
}

class SummaryCompiler {
  readonly indexes = new Map<string, IndexDeclaration>();
  private readonly measured = new Map<string, MeasuredSchema>();

  constructor(
    private readonly source: CollectedEntity,
    private readonly owner: FeatureOwner,
    private readonly declaration: SummaryDeclaration,
    private readonly problems: Problems,
  ) {}

  problem(rule: string, remedy: string): void {
    this.problems.add(
      this.source.name,
      undefined,
      `The summary ${describe(this.declaration.name)}: ${rule}`,
      remedy,
    );
  }

  compile(): SummarySchema | undefined {
    const { name } = this.declaration;
    if (typeof name !== 'string' || !NAME_PATTERN.test(name)) {
      this.problem(
        `Its name is ${describe(name)}.`,
        'Use letters, digits and _, 64 at most, not beginning with a digit.',
      );
      return undefined;
    }
    const given = this.declaration.definition as unknown as Readonly<Record<string, unknown>>;
    this.problems.checkOptions(this.source.name, undefined, `The summary ${describe(name)}`, given, OPTIONS);
    const { where } = given;
    if (where !== undefined && !isRecord(where)) {
      this.problem(`where is ${describe(where)}.`, "Give an object of columns, { status: 'open' }.");
      return undefined;
    }
    const condition = this.conditionOf(where as SummarySchema['where']);
    const by = this.byOf(given['by']);
    const figures = by && this.figuresOf(given['figures'], by, condition);
    if (by === undefined || figures === undefined) return undefined;
    const bare = by.length === 0 ? undefined : this.layout(by.map((one) => part(one)));
    if (by.length > 0 && bare === undefined) return undefined;
    const signature = JSON.stringify([
      this.source.name,
      name,
      bare?.signature ?? '',
      figures.map((figure) => [figure.name, figure.kind, figure.property ?? null, this.codecName(figure)]),
      condition === undefined ? null : textOf(condition, this.owner),
      ...versionMark(this.source),
    ]);
    const id = digestOf(signature);
    const groups = by.length === 0 ? [part(ALL_PART, uint8)] : by.map((one) => part(one));
    const layout = this.layout([literal(id), ...groups]);
    if (layout === undefined) return undefined;
    return Object.freeze({
      name,
      id,
      signature,
      by: Object.freeze(by),
      layout,
      figures: Object.freeze(figures),
      measured: Object.freeze([...this.measured.values()]),
      where: condition,
    });
  }

  /** Adds the condition that soft-deleted rows do not count. */
  private conditionOf(where: SummarySchema['where']): SummarySchema['where'] {
    if (this.owner.deletedProperty === undefined) return where && Object.freeze({ ...where });
    if (where !== undefined && Object.hasOwn(where, this.owner.deletedProperty))
      this.problem(
        `where asks for "${this.owner.deletedProperty}".`,
        'Remove it: deleted rows do not count.',
      );
    return Object.freeze({ ...where, [this.owner.deletedProperty]: null });
  }

  private layout(elements: Parameters<typeof compileKeyLayout>[0]): KeyLayout | undefined {
    const { name } = this.declaration;
    return this.problems.catching(this.source.name, `(summary "${name}")`, () =>
      compileKeyLayout(
        elements,
        (one) => partCodec({ ...this.owner, target: this.source.target }, one),
        undefined,
        {
          entity: `${this.source.name}.${name}`,
        },
      ),
    );
  }

  private byOf(given: unknown): readonly string[] | undefined {
    if (!Array.isArray(given)) {
      this.problem(`by is ${describe(given)}.`, "List properties, by: ['status']; [] for one group of all.");
      return undefined;
    }
    const before = this.problems.count;
    for (const [at, property] of (given as readonly unknown[]).entries()) {
      if (given.indexOf(property) !== at) this.problem(`by names ${describe(property)} twice.`, 'Leave one.');
      this.checkProperty(property);
    }
    return this.problems.count === before ? [...(given as readonly string[])] : undefined;
  }

  private figuresOf(
    given: unknown,
    by: readonly string[],
    where: SummarySchema['where'],
  ): FigureSchema[] | undefined {
    const entries = typeof given === 'object' && given !== null ? Object.entries(given) : [];
    if (entries.length === 0) {
      this.problem(
        `figures is ${describe(given)}.`,
        "Name figures: { orders: 'count', total: { sum: 'total' } }.",
      );
      return undefined;
    }
    const before = this.problems.count;
    const figures: FigureSchema[] = [];
    for (const [name, figure] of entries as readonly (readonly [string, unknown])[]) {
      if (by.includes(name))
        this.problem(`"${name}" is both in by and a figure.`, 'Give the figure another name.');
      if (name in Object.prototype)
        this.problem(`Every object has a property "${name}".`, 'Give the figure another name.');
      const found = this.figureOf(name, figure, by, where);
      if (found !== undefined) figures.push(found);
    }
    if (this.measured.size > MAX_MEASURED)
      this.problem(`It measures ${this.measured.size} properties.`, `Measure ${MAX_MEASURED} at most.`);
    return this.problems.count === before ? figures : undefined;
  }

  private figureOf(
    name: string,
    given: unknown,
    by: readonly string[],
    where: SummarySchema['where'],
  ): FigureSchema | undefined {
    if (given === 'count') return { name, kind: 'count', property: undefined, index: undefined };
    const [pair, ...more] = typeof given === 'object' && given !== null ? Object.entries(given) : [];
    const [kind, property] = (pair ?? []) as readonly [string?, unknown?];
    if (kind === undefined || more.length > 0 || !KINDS.includes(kind)) {
      this.problem(
        `The figure "${name}" is ${describe(given)}.`,
        "Give 'count', or one of { count }, { sum }, { avg }, { min }, { max } with a property.",
      );
      return undefined;
    }
    if (!this.checkProperty(property)) return undefined;
    const figure = { name, kind: kind as FigureSchema['kind'], property };
    if (kind === 'min' || kind === 'max') return { ...figure, index: this.indexOf(property, by, where) };
    const known = this.measured.get(property)?.sum;
    const sum = kind === 'count' ? known : sumKindOf(this.valueCodec(property));
    if (kind !== 'count' && sum === undefined) {
      this.problem(
        `The figure "${name}" sums "${property}", stored as ${this.valueCodec(property).name}: not a number, or a number without a scale.`,
        'Declare it as a number, a bigint or a decimal(n).',
      );
    }
    this.measured.set(property, Object.freeze({ property, sum }));
    return { ...figure, index: undefined };
  }

  /** The index that holds the least and greatest values of a group. */
  private indexOf(property: string, by: readonly string[], where: SummarySchema['where']): string {
    const codec = this.valueCodec(property);
    if (!(codec instanceof BaseCodec) || !codec.hasRanges) {
      this.problem(
        `It orders "${property}", stored as ${codec.name}, which is not an ordered codec.`,
        'Declare it with a codec that keys accept.',
      );
    } else if (by.includes(property)) {
      this.problem(`It orders "${property}", which is in by.`, 'All values of a group are the same.');
    }
    const name = `${this.declaration.name}_${property.replace(/\W/g, '_')}`;
    // Codecs whose bytes are in another order than the values (raw.int32) name one whose bytes are in order.
    const ordered =
      codec instanceof BaseCodec && !codec.ordered ? part(property, codec.order) : part(property);
    this.indexes.set(name, {
      name,
      elements: [...by.map((one) => part(one)), ordered],
      options: where === undefined ? undefined : { where },
    });
    return name;
  }

  /** Whether a property is a single value that changes by writes only. */
  private checkProperty(property: unknown): property is string {
    const { key, columns } = this.owner;
    const before = this.problems.count;
    const column = columns.find((one) => one.property === property);
    const own = key.parts.find(({ name, recoverable }) => name === property && recoverable);
    if (own === undefined && (!isSingleCell(column) || isList(column))) {
      this.problem(
        `It names ${describe(property)}, which is neither a single-valued column nor a key part.`,
        `Name one of: ${[...key.parts.map(({ name }) => name), ...columns.map((one) => one.property)].join(', ')}.`,
      );
    }
    if (key.substitutions.some((one) => one.part === property)) {
      this.problem(
        `"${String(property)}" is stored as a dictionary id.`,
        'Store it in a column too, and name that.',
      );
    }
    return this.problems.count === before;
  }

  private valueCodec(property: string): Pick<BaseCodec<unknown>, 'name'> {
    const { key, columns } = this.owner;
    return (
      columns.find((one) => one.property === property)?.codec ??
      key.parts.find(({ name }) => name === property)!.codec
    );
  }

  private codecName({ property }: FigureSchema): string | null {
    return property === undefined ? null : this.valueCodec(property).name;
  }
}

/** Checks summaries against the families of their columns. */
function checkSummaries(entities: readonly EntitySchema[], problems: Problems): void {
  for (const { name, summaries, table, columnsByProperty, marker, timeToLive } of entities) {
    if (summaries.length === 0) continue;
    if (!timeToLive.lifelong && (timeToLive.property ?? timeToLive.milliseconds) !== undefined) {
      problems.add(
        name,
        undefined,
        'It has a ttl and no row marker, so summaries cannot know when its rows expire.',
        'Leave out marker: false.',
      );
    }
    const ends = new Set(
      table.descriptor.families.filter(({ ttl }) => ttl !== FOREVER).map((family) => family.name),
    );
    const rule =
      'has a ttl, and no write happens when one of its cells expires, so summaries could not be updated.';
    const remedy = 'Declare the time to live of the entity, @Entity({ ttl }), in a family without a ttl.';
    if (marker !== undefined && ends.has(marker.family))
      problems.add(name, undefined, `The family "${marker.family}" of its marker ${rule}`, remedy);
    for (const { by, figures, where } of summaries) {
      const named = [
        ...by,
        ...figures.flatMap(({ property }) => property ?? []),
        ...Object.keys(where ?? {}),
      ];
      for (const property of new Set(named)) {
        const family = columnsByProperty.get(property)?.family;
        if (family !== undefined && ends.has(family))
          problems.add(name, property, `Its family "${family}" ${rule}`, remedy);
      }
    }
  }
}

// — Types of summaries, inferred from what a class lists beside `@Summary`.

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

/** The groups of a summary as a class, whose key they are. */
export type SummaryTargetOf<C extends KeyedClass, Name> = IndexTarget<
  SummaryGroup<C, Name>,
  ListedOf<C, Name>['by']
>;

/** The properties that identify a group. */
export type SummaryGroup<C extends KeyedClass, Name> = {
  [P in ListedOf<C, Name>['by'][number]]: IndexedValue<C['prototype'], P>;
};

/** A group with its figures. */
export type SummaryResult<C extends KeyedClass, Name> = Shown<
  SummaryGroup<C, Name> & {
    -readonly [Figure in keyof ListedOf<C, Name>['figures']]: FigureValue<
      C['prototype'],
      ListedOf<C, Name>['figures'][Figure]
    >;
  }
>;

type FigureValue<E, Figure> = Figure extends 'count' | { readonly count: string }
  ? number
  : Figure extends { readonly avg: string }
    ? number | null
    : Figure extends { readonly sum: infer P extends string }
      ? SumOf<IndexedValue<E, P>>
      : Figure extends { readonly min: infer P extends string } | { readonly max: infer P extends string }
        ? IndexedValue<E, P> | null
        : never;

/** The type of a sum. Strings are decimals. */
type SumOf<V> = V extends bigint ? bigint : V extends number ? number : string;
