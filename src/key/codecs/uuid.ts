import { BaseCodec, badValue, type ScalarCodec } from './base.js';
import { wrongLength } from './integer-bytes.js';
import type { KeyWriter } from './writer.js';

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The value of a lower-case hex digit's character code, or -1. */
function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  if (code >= 0x61 && code <= 0x66) return code - 0x57;
  return -1;
}

class UuidCodec extends BaseCodec<string> {
  readonly name = 'uuid';
  readonly fixedLength = 16;
  override readonly uniform = 'bytes';

  write(value: string, out: KeyWriter): void {
    out.ensure(16);
    const { buffer } = out;
    let at = out.length;
    let valid = typeof value === 'string' && value.length === 36;
    for (let i = 0; valid && i < 36; ) {
      if (i === 8 || i === 13 || i === 18 || i === 23) {
        valid = value.charCodeAt(i++) === 0x2d;
      } else {
        const high = hexDigit(value.charCodeAt(i));
        const low = hexDigit(value.charCodeAt(i + 1));
        valid = high >= 0 && low >= 0;
        buffer[at++] = (high << 4) | low;
        i += 2;
      }
    }
    if (!valid) {
      throw badValue(
        this.name,
        value,
        'written as 8-4-4-4-12 lower-case hex digits (letters are never folded)',
      );
    }
    out.length = at;
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    if (end - start !== 16) throw wrongLength(this, bytes, start, end);
    let text = '';
    for (let i = 0; i < 16; i++) {
      if (i === 4 || i === 6 || i === 8 || i === 10) text += '-';
      text += HEX[bytes[start + i]!];
    }
    return text;
  }
}

/** A UUID as text in lower case; 16 bytes in the order of the text. Split evenly, as random UUIDs are. */
export const uuid: ScalarCodec<string> = new UuidCodec();
