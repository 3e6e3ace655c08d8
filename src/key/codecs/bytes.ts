import { copyBytes } from '../../bytes/index.js';
import { BaseCodec, badValue, type Framing, type ScalarCodec } from './base.js';
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
