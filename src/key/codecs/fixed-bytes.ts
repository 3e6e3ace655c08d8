import { copyBytes } from '../../bytes/index.js';
import { SchemaError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { BaseCodec, badValue, type ScalarCodec } from './base.js';
import { wrongLength } from './integer-bytes.js';
import type { KeyWriter } from './writer.js';

class FixedBytesCodec extends BaseCodec<Uint8Array> {
  readonly name: string;

  constructor(
    readonly fixedLength: number,
    private readonly pad: number | undefined,
  ) {
    super();
    this.name = `fixedBytes(${fixedLength}${pad === undefined ? '' : `,${pad}`})`;
  }

  write(value: Uint8Array, out: KeyWriter): void {
    const { fixedLength, pad } = this;
    if (!(value instanceof Uint8Array)) throw badValue(this.name, value, 'a Uint8Array');
    if (value.length > fixedLength || (pad === undefined && value.length < fixedLength)) {
      const limit = pad === undefined ? 'exactly' : 'at most';
      throw badValue(this.name, value, `${limit} ${fixedLength} bytes`);
    }
    if (pad !== undefined) this.checkPadding(value, pad);
    out.append(value);
    for (let i = value.length; i < fixedLength; i++) out.push(pad!);
  }

  private checkPadding(value: Uint8Array, pad: number): void {
    if (value.at(-1) === pad)
      throw badValue(this.name, value, `bytes that do not end with the padding ${pad}`);
    if (value.some((byte) => byte < pad)) {
      throw badValue(
        this.name,
        value,
        `bytes of ${pad} and more: those below the padding would sort wrongly`,
      );
    }
  }

  read(bytes: Uint8Array, start: number, end: number): Uint8Array {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    let last = end;
    if (this.pad !== undefined) while (last > start && bytes[last - 1] === this.pad) last--;
    return copyBytes(bytes.subarray(start, last));
  }

  override writePrefix(value: unknown, out: KeyWriter): boolean {
    if (!(value instanceof Uint8Array) || value.length > this.fixedLength) {
      throw badValue(this.name, value, `at most ${this.fixedLength} bytes`);
    }
    out.append(value);
    return this.pad === undefined || value.at(-1) !== this.pad;
  }
}

/** Exactly `width` bytes; with `pad` (a byte) up to `width`, filled up with it and not ending with it. */
export function fixedBytes(width: number, pad?: number): ScalarCodec<Uint8Array> {
  if (!Number.isInteger(width) || width < 1 || width > 32767) {
    throw new SchemaError(
      `fixedBytes(): the width must be a whole number of bytes from 1 to 32767, not ${describe(width)}.`,
    );
  }
  if (pad !== undefined && (!Number.isInteger(pad) || pad < 0 || pad > 255)) {
    throw new SchemaError(`fixedBytes(${width}): the padding must be a byte, 0..255, not ${describe(pad)}.`);
  }
  return new FixedBytesCodec(width, pad);
}
