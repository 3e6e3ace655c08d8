import { type Converter, converterOf } from './cells.js';
import { toBinary, toText } from './ruby/index.js';

/** `family[:qualifier[:converter]]`, as a byte string. */
export interface ColumnSpec {
  readonly family: string;
  /** Undefined: the whole family. */
  readonly qualifier: Uint8Array | undefined;
}

/**
 * Takes columns apart and remembers the converters of those that have one. As in the HBase shell what stands behind a
 * second colon is a converter, never a part of the qualifier.
 */
export class Columns {
  private readonly converters = new Map<string, string>();

  parse(column: string): ColumnSpec {
    const [family, ...rest] = splitOnce(column);
    const [qualifier, converter] = rest.length === 0 ? [] : splitOnce(rest[0]!);
    if (converter !== undefined) this.converters.set(`${family}:${qualifier}`, toText(converter));
    return {
      family: toText(family!),
      qualifier: qualifier === undefined ? undefined : toBinary(qualifier),
    };
  }

  /** The converter of a column's values, or the one for all. */
  converterOf(family: string, qualifier: Uint8Array, otherwise: Converter): Converter {
    if (this.converters.size === 0) return otherwise;
    const key = `${Buffer.from(family, 'utf8').toString('latin1')}:${Buffer.from(qualifier).toString('latin1')}`;
    const name = this.converters.get(key);
    return name === undefined ? otherwise : converterOf(name);
  }
}

function splitOnce(text: string): string[] {
  const colon = text.indexOf(':');
  return colon < 0 ? [text] : [text.slice(0, colon), text.slice(colon + 1)];
}
