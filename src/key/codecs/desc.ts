/** Descending order of any codec: every bit inverted. */

import { SchemaError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { descendingElement } from '../declare.js';
import type { PartElement, TimeBucketElement } from '../elements.js';
import { BaseCodec, type Framing, type ScalarCodec, type ValueRange } from './base.js';
import type { KeyCodec } from './key-codec.js';
import type { KeyWriter } from './writer.js';

/** Inverts what `inner` writes. In a key the layout inverts escapes and ends along with it. */
export class DescendingCodec<T> extends BaseCodec<T> {
  readonly name: string;
  readonly fixedLength: number | undefined;
  override readonly framing: Framing;
  override readonly separator: number;
  override readonly endsLast: boolean;
  override readonly ordered: boolean;
  override readonly descending = true;
  override readonly uniform: 'bytes' | 'digits' | undefined;

  constructor(readonly inner: BaseCodec<T>) {
    super();
    this.name = `desc(${inner.name})`;
    this.fixedLength = inner.fixedLength;
    this.framing = inner.framing;
    this.separator = inner.separator;
    this.endsLast = inner.endsLast;
    this.ordered = inner.ordered;
    this.uniform = inner.uniform;
  }

  write(value: T, out: KeyWriter): void {
    const start = out.length;
    this.inner.write(value, out);
    out.invert(start);
  }

  read(bytes: Uint8Array, start: number, end: number): T {
    const inverted = new Uint8Array(end - start);
    for (let i = start; i < end; i++) inverted[i - start] = ~bytes[i]!;
    return this.inner.read(inverted, 0, inverted.length);
  }

  override get order(): BaseCodec<T> {
    return this.inner.order;
  }

  override get uninverted(): BaseCodec<T> {
    return this.inner;
  }

  override pieces(range: ValueRange): readonly ValueRange[] | undefined {
    return this.inner.pieces(range);
  }
}

/** The codec itself, checked to be one of Rowan's. @throws SchemaError when it is not. */
export function baseCodec<T>(codec: KeyCodec<T>): BaseCodec<T> {
  if (codec instanceof BaseCodec) return codec;
  const name = (codec as { name?: unknown } | undefined)?.name;
  throw new SchemaError(
    `${typeof name === 'string' ? `"${name}"` : describe(codec)} is no key codec. Use one of Rowan's (text, int32, date, ...).`,
  );
}

/** Descending order: of a codec, of a part (`desc(part('at'))`) or of a time bucket. Twice is ascending again. */
export function desc<E extends PartElement | TimeBucketElement>(element: E): E;
export function desc<T>(codec: KeyCodec<T>): ScalarCodec<T>;
export function desc(
  what: KeyCodec<unknown> | PartElement | TimeBucketElement,
): ScalarCodec<unknown> | PartElement | TimeBucketElement {
  if (typeof what === 'object' && what !== null && 'kind' in what) return descendingElement(what);
  const codec = baseCodec(what);
  return codec.uninverted === codec ? new DescendingCodec(codec) : codec.uninverted;
}
