/** Text as UTF-8 without losses: lone surrogates and malformed bytes are errors, nothing is replaced. */

import { badBytes, badValue } from './base.js';
import type { KeyWriter } from './writer.js';

/** Appends `text` as UTF-8. @throws RowanError `ERR_CODEC` on a lone surrogate. */
export function writeUtf8(text: string, out: KeyWriter, codec: string): void {
  const count = text.length;
  out.ensure(3 * count);
  const { buffer } = out;
  let at = out.length;
  for (let i = 0; i < count; i++) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      buffer[at++] = code;
    } else if (code < 0x800) {
      buffer[at++] = 0xc0 | (code >> 6);
      buffer[at++] = 0x80 | (code & 0x3f);
    } else {
      if (code >= 0xd800 && code <= 0xdfff) {
        const low = i + 1 < count ? text.charCodeAt(i + 1) : 0;
        if (code > 0xdbff || low < 0xdc00 || low > 0xdfff) throw loneSurrogate(text, codec);
        i++;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        buffer[at++] = 0xf0 | (code >> 18);
        buffer[at++] = 0x80 | ((code >> 12) & 0x3f);
      } else {
        buffer[at++] = 0xe0 | (code >> 12);
      }
      buffer[at++] = 0x80 | ((code >> 6) & 0x3f);
      buffer[at++] = 0x80 | (code & 0x3f);
    }
  }
  out.length = at;
}

function loneSurrogate(text: string, codec: string): Error {
  return badValue(codec, text, 'well-formed text, and this holds half of a surrogate pair');
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Longest text that is faster put together in JavaScript than in C++. */
const SHORT = 24;

/**
 * Short texts that were read lately, by a hash of their bytes. Columns hold the same few words over and over, and rows
 * that follow each other begin alike: most reads find their text here and make no string.
 */
const KNOWN = 2048;
const knownTexts: string[] = new Array<string>(KNOWN).fill('');

/** The text of `bytes[start..end)`. @throws RowanError `ERR_CODEC` when they are no UTF-8. */
export function readUtf8(bytes: Uint8Array, start: number, end: number, codec: string): string {
  const length = end - start;
  if (length > SHORT) return decodeUtf8(bytes, start, end, codec);
  let hash = length;
  let high = 0;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    high |= byte;
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  if (high >= 0x80) return decodeUtf8(bytes, start, end, codec);
  const slot = (hash ^ (hash >>> 15)) & (KNOWN - 1);
  const known = knownTexts[slot]!;
  if (known.length === length) {
    let i = 0;
    while (i < length && known.charCodeAt(i) === bytes[start + i]) i++;
    if (i === length) return known;
  }
  const text = asciiText(bytes, start, end);
  knownTexts[slot] = text;
  return text;
}

/** Eight characters in one call make a flat string; one by one they would make a chain. */
function asciiText(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  let i = start;
  for (; i + 8 <= end; i += 8) {
    text += String.fromCharCode(
      bytes[i]!,
      bytes[i + 1]!,
      bytes[i + 2]!,
      bytes[i + 3]!,
      bytes[i + 4]!,
      bytes[i + 5]!,
      bytes[i + 6]!,
      bytes[i + 7]!,
    );
  }
  for (; i + 2 <= end; i += 2) text += String.fromCharCode(bytes[i]!, bytes[i + 1]!);
  if (i < end) text += String.fromCharCode(bytes[i]!);
  return text;
}

function decodeUtf8(bytes: Uint8Array, start: number, end: number, codec: string): string {
  try {
    return decoder.decode(bytes.subarray(start, end));
  } catch {
    throw badBytes(codec, bytes, start, end, 'they are not well-formed UTF-8');
  }
}
