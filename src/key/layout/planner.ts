import {
  compareBytes,
  concatBytes,
  copyBytes,
  EMPTY_BYTES,
  equalBytes,
  keyAfter,
  startsWithBytes,
} from '../../bytes/index.js';
import { comparators, type Filter, filters } from '../../table/index.js';
import { KeyWriter } from '../codecs/index.js';
import type { KeyConditions, KeyPlan, KeyRange } from '../types.js';
import {
  combinations,
  type KeyValues,
  MAX_RANGES,
  type OrderedConditions,
  orderConditions,
  tooMany,
  valueTests,
} from './conditions.js';
import { planDirectly, planEquality, type SteppedLayout } from './direct-plan.js';
import { absoluteRange, EVERYTHING, type FieldRanges, type RelativeRange } from './ranges.js';
import type { KeyBytes, StepTest, StepWalk } from './step.js';

// — Tests rows on what the byte ranges could not decide.

/** A check of whole rows: layout, record type and every condition. */
function rowCheck(layout: SteppedLayout, asked: OrderedConditions): (row: Uint8Array) => boolean {
  const tests = [...valueTests(layout.parts, asked)];
  const stepTests = layout.steps.map((step) => step.testOf(asked));
  const hasStepTests = stepTests.some((test) => test !== undefined);
  return (row) => {
    if (!layout.matches(row)) return false;
    if (hasStepTests && !passes(layout, stepTests, row)) return false;
    if (tests.length === 0) return true;
    const values = layout.decode(row);
    return tests.every(([name, test]) => test(values[name]));
  };
}

function passes(layout: SteppedLayout, tests: readonly (StepTest | undefined)[], row: Uint8Array): boolean {
  let at = 0;
  return layout.steps.every((step, i) => {
    const start = at;
    at = step.skip(row, start);
    return tests[i]?.(row, start, at) ?? true;
  });
}

type Span = NonNullable<OrderedConditions['span']>;

/** The common leading bytes of the keys of a range. */
interface Lead {
  readonly bytes: Uint8Array;
  /** The same without derived bytes: in the order of the key's parts. */
  readonly logical: Uint8Array;
  /** The position of the lead, from 1 on, among consecutive leads with the same logical bytes. */
  readonly serial: number;
  /** The lead before the record type was appended; undefined until then. */
  readonly beforeType: Lead | undefined;
}

/** A range with the lead of its keys. */
interface LedRange extends KeyRange {
  readonly lead: Lead;
}

const NO_LEAD: Lead = { bytes: EMPTY_BYTES, logical: EMPTY_BYTES, serial: 0, beforeType: undefined };
const ALL: FieldRanges = { ranges: [EVERYTHING], exact: true, ordered: true, narrow: false };

/** Scratch buffer; its content is copied out before the next use. */
const out = new KeyWriter();

/**
 * Walks one combination of fixed values, and at most one range, through the steps of a layout: first prefixes, then
 * ranges.
 */
class Walk implements StepWalk {
  /** Whether all rows of the ranges satisfy every condition. */
  exact = true;
  /** Whether the rows of one lead are in the order of the key's parts. */
  ordered = true;
  /** Whether anything besides the fan-out narrows the table. */
  narrowed = false;
  fanOut = 1;
  /** The step at which the walk stopped, or the number of steps. */
  stopIndex = 0;
  /** The offset of the record type in the keys; undefined before the walk passes it. */
  typeOffset: number | undefined;
  /** The end of the last derived step that the walk passed. */
  derivedEnd = 0;
  private leads: Lead[] = [NO_LEAD];
  /** Set if the walk stopped before the last step: the ranges after each lead. */
  private stopped: readonly RelativeRange[] | undefined;
  private spanTaken = false;
  private readonly applied = new Set<string>();

  constructor(
    private readonly layout: SteppedLayout,
    private readonly values: KeyValues,
    readonly span: Span | undefined,
  ) {
    const { steps } = layout;
    while (this.stopIndex < steps.length && steps[this.stopIndex]!.pass(this)) this.stopIndex++;
    if (this.stopped !== undefined) this.finish();
  }

  /** Whether every part has a value, so that the ranges are whole keys. */
  get isWhole(): boolean {
    return this.stopped === undefined;
  }

  /** The ranges of rows, one for each lead and stopped range; points if the walk reached the end. */
  ranges(): LedRange[] {
    const relative = this.stopped;
    if (relative === undefined) {
      // No table accepts an empty row.
      const rows = this.leads.filter((lead) => lead.bytes.length > 0);
      return rows.map((lead) => ({ start: lead.bytes, stop: keyAfter(lead.bytes), lead }));
    }
    const ranges: LedRange[] = [];
    for (const lead of this.leads) {
      for (const one of relative) {
        const range = absoluteRange(lead.bytes, one);
        if (range !== undefined) ranges.push({ ...range, lead });
      }
    }
    return ranges;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.values, name);
  }

  bytesOf(step: KeyBytes): Uint8Array {
    out.length = 0;
    step.encode(this.values, out);
    return out.copy();
  }

  writeStep(index: number, target: KeyWriter): boolean {
    const step = this.layout.steps[index]!;
    if (!step.names.every((name) => this.has(name))) return false;
    step.encode(this.values, target);
    return true;
  }

  bytesOfWholeKey(width: number): Uint8Array | undefined {
    const { layout, values } = this;
    if (!layout.deterministic || !layout.parts.every(({ name }) => this.has(name))) return undefined;
    const at = this.leads[0]!.bytes.length;
    return copyBytes(layout.encode(values), at, at + width);
  }

  leadsToSpan(): boolean {
    const name = this.span?.name;
    for (const step of this.layout.steps.slice(this.stopIndex + 1)) {
      if (!step.derived && step.names.some((one) => one === name)) return true;
      if (!step.names.every((one) => this.has(one))) return false;
    }
    return false;
  }

  appendType(bytes: Uint8Array): boolean {
    this.typeOffset = this.leads[0]?.bytes.length;
    this.leads = this.leads.map((lead) => ({ ...lead, beforeType: lead }));
    return this.append(bytes);
  }

  append(bytes: Uint8Array): boolean {
    this.leads = this.leads.map((lead) => extended(lead, bytes, bytes));
    this.narrowed = true;
    return true;
  }

  appendParts(names: readonly string[], bytes: Uint8Array): boolean {
    for (const name of names) this.applied.add(name);
    return this.append(bytes);
  }

  appendDerived(bytes: Uint8Array): boolean {
    this.leads = this.leads.map((lead) => extended(lead, bytes, EMPTY_BYTES));
    this.derivedEnd = this.leads[0]?.bytes.length ?? 0;
    return true;
  }

  fanOutOver(choices: readonly Uint8Array[], signature: string): boolean {
    this.fanOut *= choices.length;
    return this.spread(choices, false, signature);
  }

  appendEach(choices: readonly Uint8Array[], inOrder: boolean, signature: string): boolean {
    this.narrowed = true;
    return this.spread(choices, inOrder, signature);
  }

  private spread(choices: readonly Uint8Array[], inOrder: boolean, signature: string): boolean {
    if (this.leads.length * choices.length > MAX_RANGES) throw tooMany(signature);
    this.leads = this.leads.flatMap((lead) =>
      choices.map((choice, i) => ({
        ...extended(lead, choice, EMPTY_BYTES),
        serial: inOrder && lead.serial === 0 ? i + 1 : 0,
      })),
    );
    this.derivedEnd = this.leads[0]?.bytes.length ?? 0;
    return true;
  }

  stop(): boolean {
    return this.stopAt([], ALL);
  }

  stopAt(names: readonly string[], found: FieldRanges): boolean {
    for (const name of names) this.applied.add(name);
    this.spanTaken = found !== ALL;
    this.narrowed ||= found.narrow;
    this.exact = found.exact;
    this.ordered = found.ordered;
    this.stopped = found.ranges;
    return false;
  }

  /** Decides what the steps after the stop leave open. */
  private finish(): void {
    const rest = this.layout.steps.slice(this.stopIndex);
    const asked = [...Object.keys(this.values), ...(this.span === undefined ? [] : [this.span.name])];
    if (asked.some((name) => !this.applied.has(name))) this.exact = false;
    if (this.layout.checksRows || rest.some((step) => step.constant !== undefined)) this.exact = false;
    const isKnown = (name: string): boolean => this.has(name);
    rest.forEach((step, i) => {
      if (i === 0 && this.spanTaken) return;
      if (step.disorders(rest.slice(i + 1), isKnown)) this.ordered = false;
    });
  }
}

function extended(lead: Lead, bytes: Uint8Array, logical: Uint8Array): Lead {
  return {
    bytes: concatBytes(lead.bytes, bytes),
    logical: logical.length === 0 ? lead.logical : concatBytes(lead.logical, logical),
    serial: lead.serial,
    beforeType: lead.beforeType,
  };
}

// — Turns conditions into byte ranges. Each combination of `in` values is walked through the layout separately; this file
// joins their ranges and decides how to read the rows in the order of the key's parts.

/** @throws KeyError as `KeyLayout.plan`. */
export function planKeys(layout: SteppedLayout, conditions: KeyConditions): KeyPlan {
  const equal = layout.direct && planEquality(layout.direct, conditions);
  if (equal !== undefined) return equal;
  const asked = orderConditions(layout.parts, conditions);
  const plan = layout.direct && planDirectly(layout.direct, asked);
  if (plan !== undefined) return plan;
  const walks = combinations(asked.fixed).map((values) => new Walk(layout, values, asked.span));
  const ranges = distinct(walks.flatMap((walk) => walk.ranges()));
  if (ranges.length > MAX_RANGES) throw tooMany(layout.parts[0]!.name);
  const exact = walks.every((walk) => walk.exact);
  const order = orderOf(layout, asked, walks, ranges);
  return Object.freeze({
    kind: kindOf(walks, ranges),
    ranges: Object.freeze(ranges),
    order,
    leads: Object.freeze(ranges.map(({ lead }) => lead)),
    isPlainBehind: walks.every((walk) => isPlainFrom(layout, walk.stopIndex)),
    beforeType: beforeType(layout, walks, ranges),
    mergeOffset: order === 'merge' ? mergeOffset(walks, ranges) : 0,
    fanOut: walks[0]?.fanOut ?? 1,
    residual: exact ? undefined : residualOf(layout, walks),
    check: exact ? undefined : rowCheck(layout, asked),
    inexactParts: Object.freeze(inexactParts(layout, asked)),
  });
}

function kindOf(walks: readonly Walk[], ranges: readonly LedRange[]): KeyPlan['kind'] {
  if (walks.length > 0 && walks.every((walk) => walk.isWhole))
    return ranges.length === 1 ? 'point' : 'points';
  if (walks.length > 0 && walks.every((walk) => !walk.narrowed)) return 'full';
  return ranges.length === 1 ? 'range' : 'ranges';
}

/** The bytes before the record type, if each of the plan's ranges has a lead of its own there. */
function beforeType(
  layout: SteppedLayout,
  walks: readonly Walk[],
  ranges: readonly LedRange[],
): KeyPlan['beforeType'] {
  const index = layout.steps.findIndex((step) => step.isRecordType);
  const length = walks[0]?.typeOffset;
  if (index < 0 || length === undefined || walks.some((walk) => walk.typeOffset !== length)) return undefined;
  const leads = ranges.map(({ lead }) => lead.beforeType!);
  const apart = leads.every(
    (lead, i) => lead.bytes.length > 0 && (i === 0 || !equalBytes(lead.bytes, leads[i - 1]!.bytes)),
  );
  if (!apart) return undefined;
  return {
    path: layout.steps
      .slice(0, index)
      .map((step) => step.signature)
      .join(' '),
    leads,
    isPlainBehind: isPlainFrom(layout, index),
  };
}

function isPlainFrom(layout: SteppedLayout, index: number): boolean {
  return layout.steps.slice(index).every((step) => !step.derived);
}

/** The ranges in byte order, without duplicates. */
function distinct(ranges: readonly LedRange[]): LedRange[] {
  const sorted = [...ranges].sort((a, b) => compareBytes(a.start, b.start));
  return sorted.filter((range, i) => i === 0 || !equalBytes(range.start, sorted[i - 1]!.start));
}

function orderOf(
  layout: SteppedLayout,
  asked: OrderedConditions,
  walks: readonly Walk[],
  ranges: readonly LedRange[],
): KeyPlan['order'] {
  if (walks.some((walk) => !walk.ordered)) return 'none';
  if (ranges.length < 2) return 'sequence';
  if (variesUnordered(layout, asked)) return 'none';
  return isSequence(ranges) ? 'sequence' : 'merge';
}

/** Whether an `in` list covers a part whose byte order is not the order of its values. */
function variesUnordered(layout: SteppedLayout, { fixed }: OrderedConditions): boolean {
  return layout.steps.some(
    (step) => !step.derived && !step.ordered && step.names.some((name) => (fixed.get(name)?.length ?? 0) > 1),
  );
}

/** Whether ranges in byte order are also in the order of parts: the rows of each precede those of the next. */
function isSequence(ranges: readonly LedRange[]): boolean {
  for (let i = 1; i < ranges.length; i++) {
    const a = ranges[i - 1]!.lead;
    const b = ranges[i]!.lead;
    if (a === b) continue;
    const order = compareBytes(a.logical, b.logical);
    const apart = order < 0 && !startsWithBytes(b.logical, a.logical);
    if (!apart && !(order === 0 && a.serial > 0 && a.serial < b.serial)) return false;
  }
  return true;
}

/** The offset from which comparing the rows of all ranges gives the order of parts; undefined if there is none. */
function mergeOffset(walks: readonly Walk[], ranges: readonly LedRange[]): number | undefined {
  const offset = walks[0]!.derivedEnd;
  if (walks.some((walk) => walk.derivedEnd !== offset)) return undefined;
  let before: Uint8Array | undefined;
  for (const { lead } of ranges) {
    const behind = lead.bytes.length - offset;
    const logical = lead.logical.subarray(0, Math.max(lead.logical.length - behind, 0));
    before ??= logical;
    if (!equalBytes(before, logical)) return undefined;
  }
  return before === undefined ? 0 : offset;
}

/** Parts that the key holds only as a digest or a bucket that does not decide their condition. */
function inexactParts(layout: SteppedLayout, { fixed, span }: OrderedConditions): string[] {
  const parts = layout.parts.filter(
    ({ name, recoverable }) => !recoverable && (fixed.has(name) || span?.name === name),
  );
  return parts
    .map(({ name }) => name)
    .filter(
      (name) =>
        span?.name !== name ||
        !layout.steps.some(
          (step) => !step.derived && step.names.includes(name) && step.decides(span.condition),
        ),
    );
}

/** A filter on constants at a fixed offset after the ranges' leads; undefined if there are none. */
function residualOf(layout: SteppedLayout, walks: readonly Walk[]): Filter | undefined {
  const from = Math.min(...walks.map((walk) => walk.stopIndex));
  const found: Filter[] = [];
  let offset = 0;
  for (const [index, { constant, width }] of layout.steps.entries()) {
    if (constant !== undefined && index >= from) {
      found.push(filters.row('EQUAL', comparators.binaryComponent(constant, offset)));
    }
    if (width === undefined) break;
    offset += width;
  }
  return found.length > 1 ? filters.all(...found) : found[0];
}

/** A row without bytes derived from other parts: such rows compare in the order of the key's parts. */
export function logicalBytes(layout: SteppedLayout, row: Uint8Array): Uint8Array {
  if (layout.steps.every((step) => !step.derived)) return row;
  const bytes = new Uint8Array(row.length);
  let length = 0;
  let at = 0;
  for (const step of layout.steps) {
    const end = step.skip(row, at);
    if (end < 0) return EMPTY_BYTES;
    if (!step.derived) {
      bytes.set(row.subarray(at, end), length);
      length += end - at;
    }
    at = end;
  }
  return bytes.subarray(0, length);
}
