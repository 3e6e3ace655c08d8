import type { KeyWriter } from '../../codecs/index.js';
import type { BucketElement } from '../../elements.js';
import { type KeyValues, requireValue, rowError } from '../part-values.js';
import type { StepWalk } from '../step-walk.js';
import { modulo } from './modulo.js';
import { SpreadStep } from './spread-step.js';

/** A numeric part modulo a number. */
export class BucketStep extends SpreadStep {
  readonly signature: string;
  readonly width = 1;
  readonly choices: readonly Uint8Array[];

  constructor(private readonly element: BucketElement) {
    super();
    this.signature = `bucket(${element.buckets},${element.of})`;
    this.choices = Array.from({ length: element.buckets }, (_, i) => Uint8Array.of(i));
  }

  encode(values: KeyValues, out: KeyWriter): void {
    const { of, buckets } = this.element;
    out.push(Number(modulo(of, requireValue(values, of), buckets)));
  }

  protected chosen(walk: StepWalk): Uint8Array | undefined {
    return walk.has(this.element.of) ? walk.bytesOf(this) : undefined;
  }

  decode(row: Uint8Array, at: number): number {
    const end = this.skip(row, at);
    if (end < 0) throw rowError(`byte ${at} is no bucket of ${this.signature}`);
    return end;
  }

  skip(row: Uint8Array, at: number): number {
    return at < row.length && row[at]! < this.element.buckets ? at + 1 : -1;
  }
}
