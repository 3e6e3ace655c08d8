import { SchemaError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { BaseCodec, badBytes, badValue, type ScalarCodec } from './base.js';
import { getInteger, putInteger, wrongLength } from './integer-bytes.js';
import type { KeyWriter } from './writer.js';

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
