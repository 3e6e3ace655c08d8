/** Byte strings as text: hex, latin1, and the escaped form that the HBase shell and logs use. */

import { InvalidArgumentError } from '../errors.js';

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Lower-case hex, two digits a byte. */
export function toHex(bytes: Uint8Array): string {
  let out = '';
  for (const byte of bytes) out += HEX[byte];
  return out;
}

/**
 * The bytes of a hex string.
 * @throws InvalidArgumentError for an odd number of digits or a character that is not a hex digit.
 */
export function fromHex(hex: string): Uint8Array {
  if (hex.length % 2 !== 0 || /[^0-9a-fA-F]/.test(hex)) {
    throw new InvalidArgumentError(`Not a hex string: "${hex}". Write two digits 0-9a-f for every byte.`);
  }
  const out = new Uint8Array(hex.length / 2);
  for (let i = 0; i < out.length; i++) out[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return out;
}

/** `bytes[start..end)` as a string with one character for each byte. */
export function toLatin1(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}

/** The bytes of a string whose characters are all below U+0100. */
export function fromLatin1(text: string): Uint8Array {
  const out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0xff)
      throw new InvalidArgumentError(`Character ${i} of "${text}" is above U+00FF, so it is not latin1.`);
    out[i] = code;
  }
  return out;
}

/** HBase's printable form (`Bytes.toStringBinary`): 20-7E except the backslash unchanged, all else as upper-case `\xHH`. */
export function toStringBinary(bytes: Uint8Array): string {
  let out = '';
  for (const byte of bytes) {
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x5c;
    out += plain ? String.fromCharCode(byte) : `\\x${HEX[byte]!.toUpperCase()}`;
  }
  return out;
}

/**
 * Parses HBase's printable form (`Bytes.toBytesBinary`), and refuses what HBase would silently misread.
 * @throws InvalidArgumentError for a backslash that does not begin `\xHH` with upper-case digits, or a character above FF.
 */
export function fromStringBinary(text: string): Uint8Array {
  const out: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x5c) {
      const sequence = text.slice(i, i + 4);
      if (!/^\\x[0-9A-F]{2}$/.test(sequence)) {
        throw new InvalidArgumentError(
          `Bad escape at character ${i} of "${text}": write \\x and two upper-case hex digits.`,
        );
      }
      out.push(Number.parseInt(sequence.slice(2), 16));
      i += 3;
    } else if (code > 0xff) {
      throw new InvalidArgumentError(
        `Character ${i} of "${text}" is above U+00FF: write its bytes as \\xHH.`,
      );
    } else {
      out.push(code);
    }
  }
  return Uint8Array.from(out);
}
