import { EMPTY_BYTES, toLatin1 } from '../../bytes/index.js';
import { generated } from '../../codegen/generated.js';
import { SchemaError } from '../../errors.js';
import { BaseCodec, badBytes, badValue, type Framing, type KeyWriter, type ScalarCodec } from './base.js';

/** Lossless UTF-8: lone surrogates and malformed bytes are errors; nothing is replaced. */

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/**
 * Methods of Node's buffers that take offsets of any byte array, so that no view of its part is made: half of the time of a text of 100
 * bytes. Node does not document them, so where one is missing the standard classes do the same.
 */
const { utf8Slice, utf8Write } = Buffer.prototype as unknown as {
  utf8Slice?: (this: Uint8Array, start: number, end: number) => string;
  utf8Write?: (this: Uint8Array, text: string, offset: number, length: number) => number;
};
/** From this many characters on, they are faster than JavaScript. */
const LONG = 32;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Appends `text` as UTF-8. @throws RowanError `ERR_CODEC` on a lone surrogate. */
export function writeUtf8(text: string, out: KeyWriter, codec: string): void {
  const count = text.length;
  out.ensure(3 * count);
  const { buffer } = out;
  if (count >= LONG) {
    const written =
      utf8Write?.call(buffer, text, out.length, 3 * count) ??
      encoder.encodeInto(text, buffer.subarray(out.length)).written;
    // Lone surrogates are replaced. ASCII has none, and a byte for each character.
    if (written !== count && LONE_SURROGATE.test(text)) throw loneSurrogate(text, codec);
    out.length += written;
    return;
  }
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
  return badValue(codec, text, 'well-formed text (it has a lone surrogate)');
}

/** What stands for malformed bytes in a text that was decoded all the same. */
const REPLACEMENT = '\ufffd';
/** Up to this many bytes, building a string in JavaScript is faster than having it decoded. */
const SHORT = 24;

/**
 * A cache of short strings that were read recently, by a hash of their bytes. Columns repeat a few words, and
 * neighboring rows begin alike, so most reads find their string here and allocate none.
 */
const KNOWN = 2048;
const knownTexts: string[] = new Array<string>(KNOWN).fill('');

/** The text in `bytes[start..end)`. @throws RowanError `ERR_CODEC` when they are not valid UTF-8. */
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

type AsciiReader = (bytes: Uint8Array, start: number, end: number) => string;

/** Reads up to `SHORT` bytes of ASCII. Generated with the first text. */
let asciiText: AsciiReader = (bytes, start, end) => {
  asciiText = asciiReader();
  return asciiText(bytes, start, end);
};

/**
 * A reader that makes each text in one call with all of its characters, which gives a flat string. Appending gives a chain of
 * concatenations (a rope), which takes three to five times the memory, and as much more time of the garbage collector.
 */
export function asciiReader(): AsciiReader {
  const cases = Array.from({ length: SHORT + 1 }, (_, length) => {
    const codes = Array.from({ length }, (_, i) => `bytes[start + ${i}]`);
    return `case ${length}: return String.fromCharCode(${codes.join(', ')});`;
  });
  const body = `return function asciiText(bytes, start, end) {\nswitch (end - start) {\n${cases.join('\n')}\n}\n};`;
  return generated<AsciiReader>({}, body, () => toLatin1);
}

function decodeUtf8(bytes: Uint8Array, start: number, end: number, codec: string): string {
  try {
    if (utf8Slice !== undefined) {
      const text = utf8Slice.call(bytes, start, end);
      if (!text.includes(REPLACEMENT)) return text;
    }
    return decoder.decode(bytes.subarray(start, end));
  } catch {
    throw badBytes(codec, bytes, start, end, 'they are not well-formed UTF-8');
  }
}

/**
 * Text as stored by the codec `text`. A key that holds the same bytes copies them, without making a string. The object
 * is reused for each value.
 */
export class StoredText {
  private bytes: Uint8Array = EMPTY_BYTES;
  private start = 0;
  private end = 0;

  /** Refers to `bytes[start..end)`. Returns false if they are not all ASCII: they may then be invalid. */
  take(bytes: Uint8Array, start: number, end: number): boolean {
    let high = 0;
    for (let i = start; i < end; i++) high |= bytes[i]!;
    if (high >= 0x80) return false;
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    return true;
  }

  /** Appends the bytes. */
  write(out: KeyWriter): void {
    const { bytes, start, end } = this;
    out.ensure(end - start);
    const { buffer, length } = out;
    for (let i = start, at = length; i < end; i++, at++) buffer[at] = bytes[i]!;
    out.length = length + end - start;
  }
}

/** Any well-formed text, ordered by its UTF-8 bytes (which is the order of code points). */
export class StringCodec extends BaseCodec<string> {
  readonly fixedLength = undefined;
  override readonly framing: Framing;
  override readonly separator: number;
  override readonly endsLast: boolean;
  override readonly ordered: boolean;

  constructor(
    readonly name: string,
    framing: Framing = 'escaped',
    separator = 0,
    endsLast = false,
  ) {
    super();
    this.framing = framing;
    this.separator = separator;
    this.endsLast = endsLast;
    // With another separator, a longer text with a byte below it sorts before the end of a shorter one.
    this.ordered = separator === 0;
  }

  write(value: string, out: KeyWriter): void {
    if (typeof value === 'string') writeUtf8(value, out, this.name);
    else if ((value as unknown) instanceof StoredText) (value as StoredText).write(out);
    else throw badValue(this.name, value, 'a string');
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    return readUtf8(bytes, start, end, this.name);
  }

  override writePrefix(value: unknown, out: KeyWriter): boolean {
    this.write(value as string, out);
    return true;
  }

  override get order(): BaseCodec<string> {
    return text as BaseCodec<string>;
  }
}

export const text: ScalarCodec<string> = new StringCodec('text');

/** Texts that stand for values of another order: entries of an index hold the digits of a `rawDecimal`. */
class UnorderedText extends StringCodec {
  override readonly ordered = false;
  override readonly hasRanges = false;
}

/** The bytes of `text`, in which only equal values can be found. */
export const unorderedText: BaseCodec<string> = new UnorderedText('text');

/** Text ended by `separator` (one ASCII character) where more bytes follow. The text may not contain it. */
export function separatedString(name: string, separator: string): ScalarCodec<string> {
  if (separator.length !== 1 || separator.charCodeAt(0) > 0x7f) {
    throw new SchemaError(`${name}: the separator must be one ASCII character.`);
  }
  return new StringCodec(name, 'separated', separator.charCodeAt(0));
}
