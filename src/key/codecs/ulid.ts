import { BaseCodec, badBytes, badValue, type ScalarCodec } from './base.js';
import { wrongLength } from './integer-bytes.js';
import type { KeyWriter } from './writer.js';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

class UlidCodec extends BaseCodec<string> {
  readonly name = 'ulid';
  readonly fixedLength = 16;

  write(value: string, out: KeyWriter): void {
    if (typeof value !== 'string' || !/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(value)) {
      throw badValue(this.name, value, '26 upper-case characters of Crockford base 32, the first 0-7');
    }
    out.ensure(16);
    let bits = 0;
    let held = -2;
    for (let i = 0; i < 26; i++) {
      bits = (bits << 5) | CROCKFORD.indexOf(value[i]!);
      held += 5;
      if (held >= 8) {
        held -= 8;
        out.buffer[out.length++] = bits >> held;
        bits &= (1 << held) - 1;
      }
    }
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    if (end - start !== 16) throw wrongLength(this, bytes, start, end);
    let text = '';
    let bits = 0;
    let held = 2;
    for (let i = start; i < end; i++) {
      bits = (bits << 8) | bytes[i]!;
      held += 8;
      while (held >= 5) {
        held -= 5;
        text += CROCKFORD[bits >> held];
        bits &= (1 << held) - 1;
      }
    }
    if (text.length !== 26) throw badBytes(this.name, bytes, start, end, 'it is cut short');
    return text;
  }
}

/** A ULID as text; 16 bytes in the order of the text, so in the order of time. */
export const ulid: ScalarCodec<string> = new UlidCodec();
