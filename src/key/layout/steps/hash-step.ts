import { compareBytes, concatBytes, toHex } from '../../../bytes/index.js';
import { type BaseCodec, KeyWriter } from '../../codecs/index.js';
import { digest } from '../../digest.js';
import type { HashElement } from '../../elements.js';
import {
  combinations,
  type KeyValues,
  type OrderedConditions,
  partError,
  queryError,
  requireValue,
} from '../conditions.js';
import { textSplits, uniformSplits } from '../split-cuts.js';
import {
  OpaqueStep,
  type SplitBehind,
  type Step,
  type StepFormat,
  type StepTest,
  type StepWalk,
} from '../step.js';
import { modulo } from './salt-step.js';

/** The input of a digest. */
interface HashSource {
  readonly name: string;
  readonly codec: BaseCodec<unknown>;
}

/**
 * A digest of parts. If the key holds only the digest of several parts, each but the last that has no fixed length is
 * terminated (00 as 00 FF, then 00 01) before it is hashed, so that `CT`, `UPEK` and `CTU`, `PEK` have different keys.
 * If the parts follow whole, they distinguish the keys themselves and are hashed without terminators, as Kiji does.
 */
export class HashStep extends OpaqueStep {
  readonly signature: string;
  readonly width: number;
  override readonly names: readonly string[];
  override readonly ordered = false;
  private readonly scratch = new KeyWriter(64);

  constructor(
    private readonly element: HashElement,
    private readonly sources: readonly HashSource[],
    /** Whether the key also holds the parts whole. */
    readonly derived: boolean,
  ) {
    super();
    const { algorithm, bytes, encoding, modulo: divisor } = element;
    this.width = encoding === 'hex' ? 2 * bytes : bytes;
    this.names = sources.map(({ name }) => name);
    // The signature states whether several parts are terminated.
    const options = [
      algorithm,
      String(bytes),
      sources.map(({ name, codec }) => (derived ? name : `${name}:${codec.name}`)).join(derived ? '+' : '|'),
      ...(encoding === 'hex' ? ['hex'] : []),
      ...(divisor === undefined ? [] : [`modulo ${divisor}`]),
    ];
    this.signature = `hash(${options.join(',')})`;
  }

  get format(): StepFormat {
    const { algorithm, bytes, encoding, modulo: divisor } = this.element;
    const sources = this.sources.map((source, i) => ({ ...source, ended: this.isEnded(source, i) }));
    return { kind: 'hash', algorithm, bytes, hex: encoding === 'hex', modulo: divisor, sources };
  }

  /** Whether the bytes of the source at `index` are terminated before they are hashed. */
  private isEnded({ codec }: HashSource, index: number): boolean {
    if (this.derived || index === this.sources.length - 1) return false;
    return codec.fixedLength === undefined || this.element.modulo !== undefined;
  }

  encode(values: KeyValues, out: KeyWriter): void {
    const { scratch, sources } = this;
    const { algorithm, bytes, encoding } = this.element;
    scratch.length = 0;
    for (let i = 0; i < sources.length; i++) {
      const source = sources[i]!;
      this.gather(source, requireValue(values, source.name), this.isEnded(source, i));
    }
    const whole = digest(algorithm, scratch.buffer.subarray(0, scratch.length));
    const kept = whole.subarray(0, bytes);
    out.append(encoding === 'hex' ? Buffer.from(toHex(kept), 'latin1') : kept);
  }

  private gather({ name, codec }: HashSource, value: unknown, ended: boolean): void {
    const { scratch } = this;
    const start = scratch.length;
    try {
      codec.write(value, scratch);
    } catch (error) {
      throw partError(name, value, error);
    }
    const { modulo: divisor } = this.element;
    if (divisor !== undefined) {
      scratch.length = start;
      scratch.append(Buffer.from(String(modulo(name, value, divisor)), 'latin1'));
    }
    if (!ended) return;
    scratch.escape(start);
    scratch.push(0);
    scratch.push(1);
  }

  pass(walk: StepWalk): boolean {
    if (this.names.every((name) => walk.has(name))) {
      const bytes = walk.bytesOf(this);
      return this.derived ? walk.appendDerived(bytes) : walk.appendParts(this.names, bytes);
    }
    if (!this.derived && walk.span !== undefined && this.names.includes(walk.span.name)) {
      throw queryError(
        walk.span.name,
        'is stored in the row key only as a digest. Use equality instead of a range',
      );
    }
    return walk.stop();
  }

  override disorders(_later: readonly Step[], isKnown: (name: string) => boolean): boolean {
    return !this.names.every(isKnown);
  }

  /** A digest cannot be decoded, so its bytes are compared with those of the requested values. */
  override testOf(asked: OrderedConditions): StepTest | undefined {
    return this.derived ? undefined : encodedTest(this, asked);
  }

  override splits(prefix: Uint8Array, regions: number, _behind: SplitBehind): Uint8Array[] {
    const { encoding, bytes } = this.element;
    const cuts = encoding === 'hex' ? textSplits(16, 2 * bytes, regions) : uniformSplits(bytes, regions);
    return cuts.map((key) => concatBytes(prefix, key));
  }
}

/** Tests whether a step's bytes equal those of any requested value; undefined if the values are not all given. */
export function encodedTest(step: Step, asked: OrderedConditions): StepTest | undefined {
  const fixed = step.names.map((name) => [name, asked.fixed.get(name)] as const);
  if (fixed.some(([, values]) => values === undefined)) return undefined;
  const out = new KeyWriter(64);
  const wanted = combinations(new Map(fixed as [string, readonly unknown[]][])).map((combo) => {
    out.length = 0;
    step.encode(combo, out);
    return out.copy();
  });
  return (row, start, end) => wanted.some((bytes) => compareBytes(bytes, row.subarray(start, end)) === 0);
}
