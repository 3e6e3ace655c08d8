/** `was` of a property -> the places where its column stood, with every rule that they can break. */

import type { PropertyDeclaration } from '../../decorators/index.js';
import { equalBytes, startsWithBytes, toStringBinary } from '../bytes/index.js';
import { describe } from '../table/checks.js';
import { parseColumnName } from './column-name.js';
import type { ColumnSchema, FormerPlace, ValueCodec } from './types.js';

type Report = (rule: string, mend: string) => void;
type Place = Pick<ColumnSchema, 'family' | 'qualifier'>;

const NONE: readonly FormerPlace[] = Object.freeze([]);

/** Of one entity. */
export class FormerPlaces {
  constructor(
    private readonly table: string,
    private readonly families: readonly string[],
  ) {}

  of(
    declared: PropertyDeclaration,
    place: Place,
    { codec }: { readonly codec: ValueCodec<unknown> },
    report: Report,
  ): readonly FormerPlace[] {
    const was: unknown = 'was' in declared ? declared.was : undefined;
    if (was === undefined) return NONE;
    if (!Array.isArray(was) || was.length === 0) {
      report(`Its \`was\` is ${describe(was)}.`, "Give a list of columns: { was: ['d:name'] }.");
      return NONE;
    }
    const places: FormerPlace[] = [];
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
    return Object.freeze(places);
  }

  private parse(given: unknown, own: ValueCodec<unknown>, report: Report): FormerPlace | undefined {
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
    if (!this.families.includes(parsed.family)) {
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

  /** What stands at a former place is taken for the moved column's: nothing else may stand there. */
  checkFree(
    columns: readonly ColumnSchema[],
    report: (column: ColumnSchema, ...problem: Parameters<Report>) => void,
  ): void {
    for (const column of columns) {
      for (const former of column.was) {
        const taken = columns.find(
          (other) =>
            (other.family === former.family &&
              (other.kind === 'columns'
                ? startsWithBytes(former.qualifier, other.qualifier)
                : equalBytes(former.qualifier, other.qualifier))) ||
            (other !== column && other.was.some((its) => isSame(its, former))),
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

function isSame(a: Place, b: Place): boolean {
  return a.family === b.family && equalBytes(a.qualifier, b.qualifier);
}

function nameOf({ family, qualifier }: Place): string {
  return `"${family}:${toStringBinary(qualifier)}"`;
}
