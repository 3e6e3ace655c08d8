import { concatBytes } from '../../../bytes/index.js';
import { badValue } from '../../codecs/base.js';
import { type BaseCodec, KeyWriter } from '../../codecs/index.js';
import type { SplitOptions } from '../../types.js';
import { type KeyValues, partError, queryError, requireValue, rowError } from '../conditions.js';
import { fieldRanges, type KeyField } from '../ranges.js';
import { betweenSplits, textSplits, UNIFORM_BYTES, uniformSplits } from '../split-cuts.js';
import {
  type FieldEnding,
  type InlinePart,
  type SplitBehind,
  Step,
  type StepFormat,
  type StepWalk,
} from '../step.js';

/** Scratch buffer; its content is copied out before the next use. */
const scratch = new KeyWriter(64);

const ESCAPE = 0xff;
const END = 0x01;

/** A part that the key holds whole: its codec's bytes, framed so that the next part can be found. */
export class FieldStep extends Step implements KeyField {
  readonly derived = false;
  readonly signature: string;
  readonly width: number | undefined;
  override readonly names: readonly string[];
  override readonly ordered: boolean;
  override readonly inline: InlinePart | undefined;
  override readonly ends: { readonly ending: string; readonly least: number } | undefined;
  readonly reversed: boolean;
  override readonly field: KeyField = this;
  private readonly ending: FieldEnding;
  private readonly mask: number;
  private readonly scratch: KeyWriter | undefined;
  /** Set by `endAt`: whether the bytes contain escapes. */
  hasEscapes = false;

  constructor(
    readonly name: string,
    readonly codec: BaseCodec<unknown>,
    readonly inverted: boolean,
    readonly last: boolean,
  ) {
    super();
    this.signature = `${name}:${inverted ? `desc(${codec.name})` : codec.name}`;
    this.reversed = inverted !== codec.descending;
    this.mask = inverted ? 0xff : 0;
    // Inverted text without a terminator would sort after its own extensions, so it always gets one.
    this.ending = endingOf(codec, last && !inverted);
    this.width = codec.fixedLength;
    this.ends = this.width === undefined ? endsOf(this.ending, codec, this.mask) : undefined;
    this.names = [name];
    this.ordered = codec.ordered;
    this.inline = inverted
      ? undefined
      : {
          name,
          codec,
          endLength: this.endLength,
          writable: codec.framing !== 'separated',
          framed: this.endLength > 0,
        };
    this.scratch = codec.fixedLength === undefined || inverted ? new KeyWriter(64) : undefined;
  }

  get format(): StepFormat {
    const { name, codec, ending, inverted } = this;
    return { kind: 'field', name, codec, ending, inverted };
  }

  encode(values: KeyValues, out: KeyWriter): void {
    this.write(requireValue(values, this.name), out);
  }

  write(value: unknown, out: KeyWriter): void {
    const start = out.length;
    try {
      this.codec.write(value, out);
      if (this.codec.framing === 'separated') this.checkSeparator(value, start, out);
    } catch (error) {
      throw partError(this.name, value, error);
    }
    this.frame(start, out);
    if (this.mask !== 0) out.invert(start);
  }

  /** Appends the terminator of the value that begins at `start`, and escapes its bytes if needed. */
  frame(start: number, out: KeyWriter): void {
    if (this.ending === 'escaped') {
      out.escape(start);
      out.push(0);
      out.push(END);
    } else if (this.ending === 'separated') {
      out.push(this.codec.separator);
    }
  }

  private checkSeparator(value: unknown, start: number, out: KeyWriter): void {
    const { separator } = this.codec;
    for (let i = start; i < out.length; i++) {
      if (out.buffer[i] === separator) {
        const shown = separator === 0 ? 'NUL' : JSON.stringify(String.fromCharCode(separator));
        throw badValue(this.codec.name, value, `a string without ${shown}, which terminates it in the key`);
      }
    }
  }

  writePrefix(value: unknown, suffix: boolean, out: KeyWriter): boolean | undefined {
    const start = out.length;
    let exact: boolean | undefined;
    try {
      exact = suffix ? this.codec.writeSuffix(value, out) : this.codec.writePrefix(value, out);
    } catch (error) {
      throw partError(this.name, value, error);
    }
    if (this.ending === 'escaped') out.escape(start);
    if (this.mask !== 0) out.invert(start);
    return exact;
  }

  decode(row: Uint8Array, at: number, target: Record<string, unknown>): number {
    const end = this.endAt(row, at);
    if (end < 0) throw rowError(`part "${this.name}" (${this.codec.name}) is cut short or not terminated`);
    try {
      if (this.mask === 0 && !this.hasEscapes) {
        target[this.name] = this.codec.read(row, at, end);
      } else {
        const plain = this.scratch!;
        this.unframe(row, at, end, plain);
        target[this.name] = this.codec.read(plain.buffer, 0, plain.length);
      }
    } catch (error) {
      throw partError(this.name, undefined, error);
    }
    return end + this.endLength;
  }

  private unframe(row: Uint8Array, start: number, end: number, plain: KeyWriter): void {
    const { mask } = this;
    plain.length = 0;
    plain.ensure(end - start);
    for (let i = start; i < end; i++) {
      const byte = row[i]! ^ mask;
      plain.buffer[plain.length++] = byte;
      if (byte === 0 && this.ending === 'escaped') i++;
    }
  }

  /** The number of bytes in the terminator. */
  get endLength(): number {
    return this.ending === 'escaped' ? 2 : this.ending === 'separated' ? 1 : 0;
  }

  skip(row: Uint8Array, at: number): number {
    const end = this.endAt(row, at);
    return end < 0 ? -1 : end + this.endLength;
  }

  /** The end of the value's own bytes, or -1. */
  endAt(row: Uint8Array, at: number): number {
    this.hasEscapes = false;
    switch (this.ending) {
      case 'length': {
        const end = at + this.width!;
        return end <= row.length ? end : -1;
      }
      case 'escaped':
        return this.escapedEnd(row, at);
      case 'row':
        return row.length;
      case 'self':
        return this.codec.endOf(row, at, this.mask);
      case 'separated':
        return row.indexOf(this.codec.separator ^ this.mask, at);
    }
  }

  bytesOf(value: unknown): Uint8Array {
    scratch.length = 0;
    this.write(value, scratch);
    return scratch.copy();
  }

  pass(walk: StepWalk): boolean {
    const { name } = this;
    if (walk.has(name)) return walk.appendParts(this.names, walk.bytesOf(this));
    if (walk.span?.name !== name) return walk.stop();
    if (!this.codec.hasRanges) {
      throw queryError(
        name,
        'is stored in the row key in another order than that of its values. Use equality instead of a range',
      );
    }
    return walk.stopAt(this.names, fieldRanges(this, walk.span.condition));
  }

  override disorders(_later: readonly Step[], isKnown: (name: string) => boolean): boolean {
    return !this.ordered && !isKnown(this.name);
  }

  override splits(
    prefix: Uint8Array,
    regions: number,
    _behind: SplitBehind,
    options: SplitOptions,
  ): Uint8Array[] {
    const { uniform, fixedLength } = this.codec;
    if (uniform === undefined) {
      return betweenSplits(prefix, regions, options, (value, out) => this.write(value, out));
    }
    const cuts =
      uniform === 'bytes'
        ? uniformSplits(fixedLength ?? UNIFORM_BYTES, regions)
        : textSplits(10, this.width!, regions);
    return cuts.map((key) => concatBytes(prefix, key));
  }

  private escapedEnd(row: Uint8Array, at: number): number {
    const { mask } = this;
    for (let i = at; i + 1 < row.length; i++) {
      if (row[i] !== mask) continue;
      const next = row[i + 1]! ^ mask;
      if (next === END) return i;
      if (next !== ESCAPE) return -1;
      this.hasEscapes = true;
      i++;
    }
    return -1;
  }
}

function endsOf(
  ending: FieldEnding,
  codec: BaseCodec<unknown>,
  mask: number,
): { readonly ending: string; readonly least: number } {
  switch (ending) {
    case 'row':
      return { ending, least: 0 };
    case 'escaped':
      return { ending: `escaped ${mask}`, least: 2 };
    case 'separated':
      return { ending: `separated ${codec.separator ^ mask}`, least: 1 };
    default:
      return { ending: `${codec.name} ${mask}`, least: 1 };
  }
}

function endingOf(codec: BaseCodec<unknown>, endsWithRow: boolean): FieldEnding {
  switch (codec.framing) {
    case 'fixed':
      return 'length';
    case 'self':
      return 'self';
    case 'rest':
      return 'row';
    case 'escaped':
      return endsWithRow ? 'row' : 'escaped';
    case 'separated':
      return endsWithRow && !codec.endsLast ? 'row' : 'separated';
  }
}

/** Bytes that are the same in every key: literals and the record type. */
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

  get format(): StepFormat {
    return { kind: 'constant', bytes: this.bytes };
  }

  encode(_values: KeyValues, out: KeyWriter): void {
    out.append(this.bytes);
  }

  decode(row: Uint8Array, at: number): number {
    const end = this.skip(row, at);
    if (end < 0) throw rowError(`it does not have ${this.signature} at byte ${at}`);
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
