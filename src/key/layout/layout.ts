/** A compiled row key: encoding and decoding. Searching is in `planner.ts`, splitting in `splits.ts`. */

import { toHex } from '../../bytes/index.js';
import { KeyError } from '../../errors.js';
import { KeyWriter } from '../codecs/index.js';
import type { KeyConditions, KeyLayout, KeyPart, KeyPlan, KeySubstitution, SplitOptions } from '../types.js';
import { generateStepsReader, type StepsReader } from './decoder-code.js';
import { SaltStep, TimeBucketStep } from './derived-steps.js';
import { type DirectLayout, directLayout } from './direct-plan.js';
import { generateStepsWriter, type StepsWriter } from './encoder-code.js';
import { planKeys } from './planner.js';
import { splitPoints } from './splits.js';
import type { KeyValues, Step } from './step.js';

/** The longest row HBase takes (`HConstants.MAX_ROW_LENGTH`). */
const MAX_ROW_LENGTH = 32767;

export class CompiledLayout implements KeyLayout {
  readonly signature: string;
  readonly deterministic: boolean;
  /** How plans are made without a walk, where they can be. */
  readonly direct: DirectLayout | undefined;
  private readonly writer = new KeyWriter();
  private readonly ends: Int32Array;
  private readonly readSteps: StepsReader;
  private readonly writeSteps: StepsWriter;
  /** From right to left: a salt may be computed over one that stands behind it. */
  private readonly salts: readonly SaltStep[];

  constructor(
    readonly steps: readonly Step[],
    readonly parts: readonly KeyPart[],
    readonly recordType: number | undefined,
    readonly substitutions: readonly KeySubstitution[],
  ) {
    this.signature = steps.map((step) => step.signature).join(' ');
    this.ends = new Int32Array(steps.length);
    this.direct = directLayout(steps);
    this.readSteps = generateStepsReader(steps);
    this.writeSteps = generateStepsWriter(steps);
    this.salts = steps.filter((step) => step instanceof SaltStep).reverse();
    this.deterministic = this.salts.every(({ element }) => element.assign !== 'random');
    for (const part of parts) Object.freeze(part);
  }

  encode(values: KeyValues): Uint8Array {
    const { writer, ends, salts } = this;
    writer.length = 0;
    this.writeSteps(values, writer, ends);
    for (let i = 0; i < salts.length; i++) salts[i]!.patch(writer, ends);
    if (writer.length === 0 || writer.length > MAX_ROW_LENGTH) throw this.lengthError(writer.length);
    return writer.copy();
  }

  private lengthError(length: number): KeyError {
    const why =
      length === 0
        ? 'The row key is empty, which no table takes: give its part a value that is not empty.'
        : `The row key has ${length} bytes; a table takes at most ${MAX_ROW_LENGTH}. Shorten its parts or hash them.`;
    return new KeyError(why, { details: { layout: this.signature } });
  }

  decode(row: Uint8Array): Record<string, unknown> {
    const target: Record<string, unknown> = {};
    this.decodeInto(row, target);
    return target;
  }

  decodeInto(row: Uint8Array, target: Record<string, unknown>): void {
    let at = 0;
    try {
      at = this.readSteps(row, target);
    } catch (error) {
      throw this.rowError(row, error instanceof Error ? error.message : String(error), error);
    }
    if (at !== row.length) throw this.rowError(row, `${row.length - at} bytes stand behind its last part`);
  }

  private rowError(row: Uint8Array, why: string, cause?: unknown): KeyError {
    const keyHex = toHex(row);
    return new KeyError(
      `The row ${keyHex} is not of the layout "${this.signature}": ${why}. It was written by another layout or program.`,
      { cause, details: { keyHex, layout: this.signature } },
    );
  }

  matches(row: Uint8Array): boolean {
    const { steps } = this;
    let at = 0;
    for (let i = 0; i < steps.length; i++) {
      at = steps[i]!.skip(row, at);
      if (at < 0) return false;
    }
    return at === row.length;
  }

  plan(conditions: KeyConditions): KeyPlan {
    return planKeys(this, conditions);
  }

  splitPoints(regions: number, options: SplitOptions = {}): Uint8Array[] {
    return splitPoints(this, regions, options);
  }

  bucketStart(row: Uint8Array): number | undefined {
    let at = 0;
    for (const step of this.steps) {
      const end = step.skip(row, at);
      if (end < 0) throw this.rowError(row, `it does not hold ${step.signature}`);
      if (step instanceof TimeBucketStep) return step.startAt(row, at);
      at = end;
    }
    return undefined;
  }
}
