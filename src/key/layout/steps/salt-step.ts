import { equalBytes, toHex } from '../../../bytes/index.js';
import { KeyWriter } from '../../codecs/index.js';
import { phoenixSalt } from '../../digest/digest.js';
import { murmur3 } from '../../digest/murmur3.js';
import type { SaltElement } from '../../elements.js';
import { type KeyValues, rowError } from '../part-values.js';
import type { StepWalk } from '../step-walk.js';
import { SpreadStep } from './spread-step.js';

/** A salt: computed over other parts of the key, or drawn at random. */
export class SaltStep extends SpreadStep {
  readonly signature: string;
  readonly width: number;
  readonly choices: readonly Uint8Array[];
  override readonly deterministic: boolean;
  override readonly patches = true;
  private readonly prefixes: readonly Uint8Array[] | undefined;
  private readonly gathered = new KeyWriter(64);

  constructor(
    private readonly element: SaltElement,
    /** The index of this step in the layout. */
    private readonly index: number,
    /** First and last step of each run of bytes that is hashed; undefined for all bytes behind the salt. */
    private readonly runs: readonly (readonly [number, number])[] | undefined,
    private readonly random: () => number,
  ) {
    super();
    const { buckets, prefixes, over, algorithm, assign } = element;
    this.prefixes = prefixes;
    this.deterministic = assign !== 'random';
    this.width = prefixes?.[0]?.length ?? 1;
    this.choices = prefixes
      ? [...prefixes].sort((a, b) => Buffer.compare(a, b))
      : Array.from({ length: buckets }, (_, i) => Uint8Array.of(i));
    const options = [
      prefixes ? `[${prefixes.map(toHex).join(' ')}]` : String(buckets),
      ...(over ? [`over ${over.join('+')}`] : []),
      ...(algorithm === 'phoenix' ? ['phoenix'] : []),
      ...(assign === 'random' ? ['random'] : []),
    ];
    this.signature = `salt(${options.join(',')})`;
  }

  encode(_values: KeyValues, out: KeyWriter): void {
    out.ensure(this.width);
    out.length += this.width;
  }

  override patch(out: KeyWriter, ends: Int32Array): void {
    const at = ends[this.index]! - this.width;
    const choice = this.choose(out, ends);
    if (this.prefixes === undefined) out.buffer[at] = choice;
    else out.buffer.set(this.prefixes[choice]!, at);
  }

  private choose(out: KeyWriter, ends: Int32Array): number {
    const { buckets, assign } = this.element;
    if (assign === 'random') return Math.floor(this.random() * buckets);
    const { runs } = this;
    if (runs === undefined) return phoenixSalt(out.buffer, ends[this.index]!, out.length, buckets);
    if (runs.length === 1) {
      const [first, last] = runs[0]!;
      return murmur3(out.buffer, first === 0 ? 0 : ends[first - 1]!, ends[last]!) % buckets;
    }
    const { gathered } = this;
    gathered.length = 0;
    for (const [first, last] of runs) {
      gathered.append(out.buffer.subarray(first === 0 ? 0 : ends[first - 1]!, ends[last]!));
    }
    return this.choiceOf(gathered);
  }

  private choiceOf(hashed: KeyWriter): number {
    return murmur3(hashed.buffer, 0, hashed.length) % this.element.buckets;
  }

  protected chosen(walk: StepWalk): Uint8Array | undefined {
    if (!this.deterministic) return undefined;
    if (this.runs === undefined) return walk.bytesOfWholeKey(this.width);
    const { gathered } = this;
    gathered.length = 0;
    for (const [first, last] of this.runs) {
      for (let i = first; i <= last; i++) if (!walk.writeStep(i, gathered)) return undefined;
    }
    const choice = this.choiceOf(gathered);
    return this.prefixes?.[choice] ?? Uint8Array.of(choice);
  }

  decode(row: Uint8Array, at: number): number {
    const end = this.skip(row, at);
    if (end < 0) throw rowError(`byte ${at} is none of the salts of ${this.signature}`);
    return end;
  }

  skip(row: Uint8Array, at: number): number {
    const end = at + this.width;
    if (end > row.length) return -1;
    if (this.prefixes === undefined) return row[at]! < this.element.buckets ? end : -1;
    return this.prefixes.some((prefix) => equalBytes(prefix, row.subarray(at, end))) ? end : -1;
  }
}
