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

/** The text of `bytes[start..end)`. @throws RowanError `ERR_CODEC` when they are no UTF-8. */
export function readUtf8(bytes: Uint8Array, start: number, end: number, codec: string): string {
  if (end - start <= SHORT) {
    let text = '';
    for (let i = start; i < end; i++) {
      const byte = bytes[i]!;
      if (byte >= 0x80) return decodeUtf8(bytes, start, end, codec);
      text += String.fromCharCode(byte);
    }
    return text;
  }
  return decodeUtf8(bytes, start, end, codec);
}

function decodeUtf8(bytes: Uint8Array, start: number, end: number, codec: string): string {
  try {
    return decoder.decode(bytes.subarray(start, end));
  } catch {
    throw badBytes(codec, bytes, start, end, 'they are not well-formed UTF-8');
  }
}
