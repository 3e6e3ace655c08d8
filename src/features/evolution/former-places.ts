import type { PropertyDeclaration, TableDeclaration } from '../../../decorators/index.js';
import { equalBytes, startsWithBytes, toStringBinary } from '../../bytes/index.js';
import { type FormerPlaceCompiler, parseColumnName } from '../../schema/columns.js';
import type { ColumnSchema, FormerPlaceSchema, ValueCodec } from '../../schema/types.js';
import { describe } from '../../table/checks.js';

/** Compiles and checks `was`: the former places of columns. */

type Report = (rule: string, remedy: string) => void;
type Place = Pick<ColumnSchema, 'family' | 'qualifier'>;

type Counted = Pick<ColumnSchema, 'kind' | 'codec'> & Partial<Pick<ColumnSchema, 'window'>>;

/** Whether a column holds counters, alone or as entries of a Map. The values at its places are summed. */
export function isCounted({ kind, codec, window }: Counted): boolean {
  return kind === 'counter' || (kind === 'columns' && window === undefined && codec.name === 'counter');
}

const NONE: readonly FormerPlaceSchema[] = Object.freeze([]);

/** Compiles the former places of one entity. */
export class FormerPlaces implements FormerPlaceCompiler {
  constructor(
    private readonly table: string,
    /** The families as they are declared. */
    private readonly families: TableDeclaration['families'],
  ) {}

  of(
    declared: PropertyDeclaration,
    place: Place,
    storage: Counted,
    report: Report,
  ): readonly FormerPlaceSchema[] {
    const was = (declared.options as { readonly was?: unknown } | undefined | null)?.was;
    if (was === undefined) return NONE;
    if (!Array.isArray(was) || was.length === 0) {
      report(`Its \`was\` is ${describe(was)}.`, "Give a list of columns: { was: ['d:name'] }.");
      return NONE;
    }
    const { codec } = storage;
    const places: FormerPlaceSchema[] = [];
    for (const one of was as readonly unknown[]) {
      const former = this.parse(one, codec, report);
      if (former === undefined) continue;
      if ([place, ...places].some((other) => isSame(other, former))) {
        report(
          `Its \`was\` names ${nameOf(former)} ${isSame(place, former) ? 'which is where it stands' : 'twice'}.`,
          isSame(place, former)
            ? 'Bytes do not say by which codec they were written: give the property another column, and name this one in `was`.'
            : 'Name it once.',
        );
        continue;
      }
      places.push(Object.freeze(former));
    }
    if (isCounted(storage)) this.checkCounts([place, ...places], report);
    return Object.freeze(places);
  }

  private parse(given: unknown, own: ValueCodec<unknown>, report: Report): FormerPlaceSchema | undefined {
    const record = typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
    const recoded = 'column' in record;
    const parsed = parseColumnName((recoded ? record['column'] : given) as string);
    if (typeof parsed === 'string') {
      report(
        `In its \`was\`: ${parsed}`,
        'Write "family:qualifier", or formerly("family:qualifier", codec, migrate).',
      );
      return undefined;
    }
    if (!Object.hasOwn(this.families, parsed.family)) {
      report(
        `Its \`was\` names ${nameOf(parsed)}, and table "${this.table}" declares no family "${parsed.family}".`,
        'Leave the family in @Table({ families }) until the column has been moved.',
      );
      return undefined;
    }
    if (!recoded) return { ...parsed, codec: own, migrate: undefined };
    const { codec, migrate } = record as { codec?: Partial<ValueCodec<unknown>>; migrate?: unknown };
    if (
      typeof codec?.decode !== 'function' ||
      typeof codec.encode !== 'function' ||
      typeof migrate !== 'function'
    ) {
      report(
        `Its \`was\` gives ${nameOf(parsed)} without a codec or a function that migrates.`,
        'Write formerly("family:qualifier", codec, (old) => value).',
      );
      return undefined;
    }
    return {
      ...parsed,
      codec: codec as ValueCodec<unknown>,
      migrate: migrate as (old: unknown) => unknown,
    };
  }

  /** Checks columns whose counts at several places are summed. */
  private checkCounts(places: readonly (Place & Partial<FormerPlaceSchema>)[], report: Report): void {
    if (places.some(({ migrate }) => migrate !== undefined))
      report(
        'It is a counter, and its `was` gives a function that migrates.',
        'Name the place of a counter alone: counts of both places are added up.',
      );
    const kept = places.find(({ family }) => (this.families[family]?.versions ?? 1) > 1);
    if (kept !== undefined)
      report(
        `It is a counter that moves, and the family "${kept.family}" keeps several versions, which cannot be added up.`,
        'Leave the counter where it is, or declare versions: 1.',
      );
  }

  /** Checks that no other column uses a former place: its cells are read as those of the moved column. */
  checkFree(
    columns: readonly ColumnSchema[],
    report: (column: ColumnSchema, ...problem: Parameters<Report>) => void,
  ): void {
    for (const column of columns) {
      for (const former of column.was) {
        const taken = columns.find(
          (other) =>
            overlap(column, former, other, other) ||
            (other !== column && other.was.some((its) => overlap(column, former, other, its))),
        );
        if (taken === undefined) continue;
        report(
          column,
          `Its \`was\` names ${nameOf(former)}, which is also that of "${taken.property}".`,
          'A column can move to a place of its own only.',
        );
      }
    }
  }
}

/** Whether a cell can belong to both: a Map has every cell after its prefix. */
function overlap(column: ColumnSchema, place: Place, other: ColumnSchema, its: Place): boolean {
  if (place.family !== its.family) return false;
  return (
    equalBytes(place.qualifier, its.qualifier) ||
    (column.kind === 'columns' && startsWithBytes(its.qualifier, place.qualifier)) ||
    (other.kind === 'columns' && startsWithBytes(place.qualifier, its.qualifier))
  );
}

function isSame(a: Place, b: Place): boolean {
  return a.family === b.family && equalBytes(a.qualifier, b.qualifier);
}

function nameOf({ family, qualifier }: Place): string {
  return `"${family}:${toStringBinary(qualifier)}"`;
}
