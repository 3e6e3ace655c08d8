import { concatBytes } from '../../../bytes/index.js';
import type { KeyWriter } from '../../codecs/index.js';
import type { SplitOptions } from '../../types.js';
import { type KeyValues, rowError } from '../part-values.js';
import { type SplitBehind, Step } from '../step.js';
import type { StepWalk } from '../step-walk.js';

/** Bytes that stand in every key: literals and the record type. */
export class ConstStep extends Step {
  readonly derived = false;
  readonly width: number;
  override readonly constant: Uint8Array;

  constructor(
    private readonly bytes: Uint8Array,
    readonly signature: string,
    override readonly isRecordType = false,
  ) {
    super();
    this.width = bytes.length;
    this.constant = bytes;
  }

  encode(_values: KeyValues, out: KeyWriter): void {
    out.append(this.bytes);
  }

  decode(row: Uint8Array, at: number): number {
    const end = this.skip(row, at);
    if (end < 0) throw rowError(`byte ${at} is not the beginning of ${this.signature}`);
    return end;
  }

  skip(row: Uint8Array, at: number): number {
    const { bytes, width } = this;
    if (at + width > row.length) return -1;
    for (let i = 0; i < width; i++) if (row[at + i] !== bytes[i]) return -1;
    return at + width;
  }

  pass(walk: StepWalk): boolean {
    return this.isRecordType ? walk.appendType(this.bytes) : walk.append(this.bytes);
  }

  override splits(
    prefix: Uint8Array,
    regions: number,
    behind: SplitBehind,
    _options: SplitOptions,
  ): Uint8Array[] {
    return behind(concatBytes(prefix, this.bytes), regions);
  }
}
