/** One combination of fixed values, and one range at most, walked through the steps of a layout: prefixes, then ranges. */

import { concatBytes, copyBytes, EMPTY_BYTES, keyAfter } from '../../bytes/index.js';
import { KeyWriter } from '../codecs/index.js';
import type { KeyRange } from '../types.js';
import { MAX_RANGES, type OrderedConditions, tooMany } from './conditions.js';
import type { KeyValues } from './part-values.js';
import { absoluteRange, EVERYTHING, type FieldRanges, type RelativeRange } from './ranges.js';
import type { KeyBytes, StepWalk } from './step-walk.js';
import type { SteppedLayout } from './stepped-layout.js';

type Span = NonNullable<OrderedConditions['span']>;

/** The bytes that the keys of a range begin with. */
export interface Lead {
  readonly bytes: Uint8Array;
  /** The same without what is derived: in the order of the key's parts. */
  readonly logical: Uint8Array;
  /** Of leads with the same logical bytes that follow each other in the order of parts: their number, from 1 on. */
  readonly serial: number;
  /** What it was before the record type; undefined until that was passed. */
  readonly beforeType: Lead | undefined;
}

/** A range and what its keys begin with. */
export interface LedRange extends KeyRange {
  readonly lead: Lead;
}

const NO_LEAD: Lead = { bytes: EMPTY_BYTES, logical: EMPTY_BYTES, serial: 0, beforeType: undefined };
const ALL: FieldRanges = { ranges: [EVERYTHING], exact: true, ordered: true, narrow: false };

/** What is written into it is taken out before anything else is written. */
const out = new KeyWriter();

export class Walk implements StepWalk {
  /** Whether all rows of the ranges meet every condition. */
  exact = true;
  /** Whether the rows of one lead come in the order of the key's parts. */
  ordered = true;
  /** Whether anything but the fan-out narrows the table. */
  narrowed = false;
  fanOut = 1;
  /** The step at which it stopped, or the number of steps. */
  stopIndex = 0;
  /** Where the record type begins in the keys; undefined until it was passed. */
  typeOffset: number | undefined;
  /** Where the last derived step that was passed ends. */
  derivedEnd = 0;
  private leads: Lead[] = [NO_LEAD];
  /** Set when the walk stopped before the last step: the rest is a range behind each lead. */
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

  /** Whether every part was given: the ranges are whole keys. */
  get isWhole(): boolean {
    return this.stopped === undefined;
  }

  /** The rows, one interval a lead; points when the walk reached the end. */
  ranges(): LedRange[] {
    const relative = this.stopped;
    if (relative === undefined) {
      // No table takes an empty row.
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

  /** What the steps behind the stop leave open. */
  private finish(): void {
    const rest = this.layout.steps.slice(this.stopIndex);
    const asked = [...Object.keys(this.values), ...(this.span === undefined ? [] : [this.span.name])];
    if (asked.some((name) => !this.applied.has(name))) this.exact = false;
    if (rest.some((step) => step.constant !== undefined)) this.exact = false;
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
