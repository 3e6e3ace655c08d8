/** Byte strings, truth values and enumerations. */

import { copyBytes } from '../../bytes/index.js';
import { SchemaError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { BaseCodec, badBytes, badValue, type Framing, type ScalarCodec } from './base.js';
import { getInteger, putInteger, wrongLength } from './integers.js';
import type { KeyWriter } from './writer.js';

/** Any byte string, in unsigned lexicographic order. */
export class BytesCodec extends BaseCodec<Uint8Array> {
  readonly fixedLength = undefined;
  override readonly framing: Framing;

  constructor(
    readonly name: string,
    framing: Framing = 'escaped',
  ) {
    super();
    this.framing = framing;
  }

  write(value: Uint8Array, out: KeyWriter): void {
    if (!(value instanceof Uint8Array)) throw badValue(this.name, value, 'a Uint8Array');
    out.append(value);
  }

  read(bytes: Uint8Array, start: number, end: number): Uint8Array {
    return copyBytes(bytes.subarray(start, end));
  }

  override writePrefix(value: unknown, out: KeyWriter): boolean {
    this.write(value as Uint8Array, out);
    return true;
  }

  override encode(value: Uint8Array): Uint8Array {
    if (!(value instanceof Uint8Array)) throw badValue(this.name, value, 'a Uint8Array');
    return copyBytes(value);
  }
}

export const bytes: ScalarCodec<Uint8Array> = new BytesCodec('bytes');

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

/** One byte: `no` or `yes`. */
export class BooleanCodec extends BaseCodec<boolean> {
  readonly fixedLength = 1;

  constructor(
    readonly name: string,
    private readonly yes: number,
  ) {
    super();
  }

  write(value: boolean, out: KeyWriter): void {
    if (typeof value !== 'boolean') throw badValue(this.name, value, 'true or false');
    out.push(value ? this.yes : 0);
  }

  read(bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start !== 1) throw wrongLength(this, bytes, start, end);
    const byte = bytes[start]!;
    if (byte !== 0 && byte !== this.yes)
      throw badBytes(this.name, bytes, start, end, `it is neither 0 nor ${this.yes}`);
    return byte !== 0;
  }
}

/** 00 or 01: false before true. */
export const boolean: ScalarCodec<boolean> = new BooleanCodec('boolean', 1);

class EnumerationCodec<Name extends string> extends BaseCodec<Name> {
  readonly name: string;
  private readonly names: ReadonlyMap<number, Name>;

  constructor(
    readonly fixedLength: number,
    private readonly ids: ReadonlyMap<Name, number>,
  ) {
    super();
    this.names = new Map([...ids].map(([name, id]) => [id, name]));
    const list = [...ids].sort((a, b) => a[1] - b[1]).map(([name, id]) => `${JSON.stringify(name)}=${id}`);
    this.name = `enumeration(${list.join(',')}${fixedLength === 1 ? '' : `;${fixedLength}`})`;
  }

  write(value: Name, out: KeyWriter): void {
    const id = this.ids.get(value);
    if (id === undefined) throw badValue('enumeration', value, `one of ${[...this.ids.keys()].join(', ')}`);
    out.ensure(this.fixedLength);
    putInteger(out.buffer, out.length, this.fixedLength, id);
    out.length += this.fixedLength;
  }

  read(bytes: Uint8Array, start: number, end: number): Name {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    const id = getInteger(bytes, start, this.fixedLength);
    const name = this.names.get(id);
    if (name === undefined) throw badBytes('enumeration', bytes, start, end, `no name has the id ${id}`);
    return name;
  }
}

/**
 * One of some names, by ids that never change: `enumeration({ open: 1, shipped: 2 })`. One byte, or `bytes: 2` for ids
 * above 255. The order is that of the ids.
 */
export function enumeration<const Name extends string>(
  ids: Readonly<Record<Name, number>>,
  options: { readonly bytes?: 1 | 2 } = {},
): ScalarCodec<Name> {
  if (typeof ids !== 'object' || ids === null || typeof options !== 'object' || options === null) {
    throw new SchemaError(
      `enumeration() takes names and their ids, { open: 1, shipped: 2 }, not ${describe(ids)}.`,
    );
  }
  const size = options.bytes ?? 1;
  if (size !== 1 && size !== 2) {
    throw new SchemaError(`enumeration(): bytes is 1 or 2, not ${describe(size)}.`);
  }
  const entries = Object.entries(ids) as [Name, number][];
  if (entries.length === 0) throw new SchemaError('enumeration(): it has no names.');
  for (const [name, id] of entries) {
    if (!Number.isInteger(id) || id < 0 || id >= 256 ** size) {
      throw new SchemaError(
        `enumeration(): the id of "${name}" must be a whole number from 0 to ${256 ** size - 1}.`,
      );
    }
  }
  if (new Set(entries.map(([, id]) => id)).size !== entries.length) {
    throw new SchemaError('enumeration(): two names have the same id.');
  }
  return new EnumerationCodec(size, new Map(entries));
}
