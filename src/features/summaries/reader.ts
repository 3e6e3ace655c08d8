import { concatBytes, EMPTY_BYTES, equalBytes, toLatin1 } from '../../bytes/index.js';
import { isWriteRefused, QueryError } from '../../errors.js';
import { storedValue } from '../../key/codecs/index.js';
import type { KeyConditions, KeyRange } from '../../key/types.js';
import type { ChangeStep } from '../../repository/maintainer.js';
import { RowImage } from '../../repository/row-image.js';
import type { FigureSchema } from '../../schema/types.js';
import { type AtomicStep, type Filter, Get, type Result, Scan } from '../../table/index.js';
import type { EntityIndex } from '../indexes/entity-indexes.js';
import { decodeEntry, ENTRY_QUALIFIER, INDEX_FAMILY } from '../indexes/entry.js';
import { type IndexAccess, requireActive } from '../indexes/query/access.js';
import { SummaryCount } from './embedded.js';
import { differenceOf, type SummaryPlan } from './plan.js';
import {
  amountsOf,
  countPrefix,
  type FigureAmounts,
  groupOf,
  groupRow,
  RowKind,
  readRecord,
} from './rows.js';

/** A group with its figures. */
type SummaryRow = Record<string, unknown>;

/** The position at which a scan of groups continues. */
export interface GroupPosition {
  readonly range: number;
  readonly after: Uint8Array;
}

/** Expired rows looked for at once. */
const EXPIRED = 256;
/** Entries tested in one batch for one that its row confirms. */
const ENTRIES = 16;

/** The count in use. */
interface CountInUse {
  /** Its number. */
  readonly number: number;
  /** What expired rows still contribute to groups (latin1), where it cannot be subtracted. */
  readonly left: ReadonlyMap<string, FigureAmounts>;
}

const NOTHING: CountInUse['left'] = new Map();

/** Reads the figures of a summary: of one group, or of many in their order. */
export class SummaryReader {
  constructor(
    private readonly plan: SummaryPlan,
    private readonly access: IndexAccess | undefined,
    /** Excludes cells of groups that are no amounts. */
    private readonly sift: Filter | undefined = undefined,
  ) {}

  /** Null: the group has no rows. @throws QueryError when the summary is not built; KeyError. */
  get(step: ChangeStep, values: Readonly<Record<string, unknown>>): SummaryRow | null {
    const group = this.plan.encode(values);
    const { number, left } = this.counted(step);
    const found = step.read(new Get(groupRow(number, group)).setFilter(this.sift), this.plan.tableName);
    return this.rowOf(step, group, found, left);
  }

  /** A page of groups that satisfy the conditions, from a position on. @throws as `get`. */
  page(
    step: ChangeStep,
    conditions: KeyConditions,
    limit: number,
    from: GroupPosition | undefined,
  ): { readonly rows: SummaryRow[]; readonly next: GroupPosition | undefined } {
    const { number, left } = this.counted(step);
    const { ranges, check } = this.plan.summary.layout.plan(conditions);
    const rows: SummaryRow[] = [];
    for (let at = from?.range ?? 0; at < ranges.length; at++) {
      const scan = this.scanOf(number, ranges[at]!, at === from?.range ? from.after : undefined);
      const wanted = limit - rows.length;
      const found = step.scan(scan.setFilter(this.sift).setLimit(wanted), this.plan.tableName);
      for (const result of found) {
        const group = groupOf(result.row);
        if (check !== undefined && !check(group)) continue;
        const row = this.rowOf(step, group, result, left);
        if (row !== null) rows.push(row);
      }
      if (found.length === wanted) return { rows, next: { range: at, after: found.at(-1)!.row } };
    }
    return { rows, next: undefined };
  }

  /** The count in use, after subtracting expired rows. */
  private counted(step: ChangeStep): CountInUse {
    const { schema, summary } = this.plan;
    const state = readRecord(step, schema, summary);
    if (state?.active === undefined || state.active === null) {
      const why =
        state === undefined
          ? 'it was never counted, or a program that does not know it has written since'
          : state.building !== null
            ? 'it is being built'
            : 'it has no count, or a connection to the served store has written rows that only the embedded engine had counted';
      throw new QueryError(
        `The summary "${summary.name}" of ${schema.name} cannot be read: ${why}. Build it: await db.summary(${schema.name}, '${summary.name}').build(), or rowan summary build.`,
        { details: { entity: schema.name, summary: summary.name } },
      );
    }
    const number = state.active;
    return { number, left: this.plan.ends ? this.subtract(number, step as AtomicStep) : NOTHING };
  }

  /** Subtracts expired rows. @returns what is left, where nothing can be written. */
  private subtract(number: number, step: AtomicStep): CountInUse['left'] {
    const count = new SummaryCount(this.plan, number);
    try {
      step.attempt(() => {
        while (count.subtractExpired(step, EXPIRED));
      });
      return NOTHING;
    } catch (error) {
      if (!isWriteRefused(error)) throw error;
      return count.left(step, EXPIRED);
    }
  }

  private scanOf(count: number, { start, stop }: KeyRange, after: Uint8Array | undefined): Scan {
    const before = countPrefix(RowKind.group, count, EMPTY_BYTES);
    const scan =
      after === undefined
        ? new Scan().withStartRow(concatBytes(before, start))
        : new Scan().withStartRow(after, false);
    return scan.withStopRow(
      stop === undefined ? countPrefix(RowKind.group, count + 1, EMPTY_BYTES) : concatBytes(before, stop),
    );
  }

  private rowOf(
    step: ChangeStep,
    group: Uint8Array,
    found: Result,
    left: CountInUse['left'],
  ): SummaryRow | null {
    const amounts = differenceOf(left.get(toLatin1(group)), amountsOf(found));
    if (this.plan.rowsIn(amounts) <= 0n) return null;
    const { by, figures, layout } = this.plan.summary;
    const values = layout.decode(group);
    const row: SummaryRow = {};
    for (const property of by) row[property] = values[property];
    for (const figure of figures) {
      row[figure.name] =
        figure.index === undefined
          ? this.plan.figureOf(figure, amounts)
          : this.extremeOf(step, figure, values);
    }
    return row;
  }

  /** The least or greatest value of a group: that of the first or last entry that its row confirms. */
  private extremeOf(
    step: ChangeStep,
    { kind, property, index: name }: FigureSchema,
    values: Readonly<Record<string, unknown>>,
  ): unknown {
    const { schema } = this.plan;
    const { indexes } = this.access!;
    const index = indexes.all.find((one) => one.index.name === name)!;
    requireActive(schema, index.index, this.access);
    const { layout } = index.index;
    const conditions: Record<string, KeyConditions[string]> = {};
    for (const { name: part, codec } of layout.parts) {
      if (!this.plan.summary.by.includes(part)) continue;
      conditions[part] = { kind: 'eq', value: storedValue(codec, values[part]) };
    }
    const [range] = layout.plan(conditions).ranges;
    if (range === undefined) return null;
    // The index has the property by its own codec, and may so have the greatest value first.
    const isReversed = layout.parts.some(({ name: part, descending }) => part === property && descending);
    let last: Uint8Array | undefined;
    for (;;) {
      const scan = (kind === 'min') !== isReversed ? forward(range, last) : backward(range, last);
      const entries = step.scan(scan.setLimit(ENTRIES), indexes.tableName);
      for (const entry of entries) {
        if (this.isBorne(step, index, entry)) return layout.decode(entry.row)[property!];
        last = entry.row;
      }
      if (entries.length < ENTRIES) return null;
    }
  }

  private isBorne(step: ChangeStep, index: EntityIndex, entry: Result): boolean {
    const { schema } = this.plan;
    const value = entry.getValue(INDEX_FAMILY, ENTRY_QUALIFIER);
    if (value === undefined) return false;
    const { dataRow } = decodeEntry(index.index, entry.row, value);
    const stored = step.read(new Get(dataRow), schema.table.descriptor.name);
    if (this.plan.contributionOf(RowImage.of(dataRow, stored)) === undefined) return false;
    const entity = index.reader.read(stored);
    return entity !== null && index.rowsOf(entity, stored).some((row) => equalBytes(row, entry.row));
  }
}

function forward({ start, stop }: KeyRange, after: Uint8Array | undefined): Scan {
  const scan = after === undefined ? new Scan().withStartRow(start) : new Scan().withStartRow(after, false);
  return stop === undefined ? scan : scan.withStopRow(stop);
}

function backward({ start, stop }: KeyRange, before: Uint8Array | undefined): Scan {
  const scan = new Scan().setReversed(true).withStopRow(start, true);
  const from = before ?? stop;
  return from === undefined ? scan : scan.withStartRow(from, false);
}
