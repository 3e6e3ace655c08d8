/** Ruby literals for the HBase shell (JRuby). */

import { toStringBinary } from '../bytes/index.js';

/**
 * A text as a Ruby string. Single quotes, in which only `\\` and `\'` are escapes; text with control characters goes
 * into double quotes, where a newline can be written without being one.
 */
export function rubyString(text: string): string {
  if (!/\p{Cc}/u.test(text)) return `'${text.replace(/[\\']/g, '\\$&')}'`;
  const escaped = text.replace(/[\\"#]|\p{Cc}/gu, (char) => {
    const code = char.codePointAt(0)!;
    return code >= 0x20 && code < 0x7f ? `\\${char}` : `\\u{${code.toString(16)}}`;
  });
  return `"${escaped}"`;
}

/**
 * Bytes for an option that the shell reads with `Bytes.toBytesBinary` (SPLITS). In single quotes Ruby leaves `\xHH`
 * alone; the digits are upper case, since toBytesBinary silently misreads lower-case ones.
 */
export function rubyBinary(bytes: Uint8Array): string {
  return `'${toStringBinary(bytes).replaceAll("'", '\\x27')}'`;
}

/**
 * Bytes for an argument that the shell takes as they are in Ruby (`split`, rows): in double quotes, where Ruby reads the
 * escapes itself.
 */
export function rubyBytes(bytes: Uint8Array): string {
  return `"${[...bytes].map((byte) => `\\x${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')}"`;
}

/** A text, number or boolean. */
export function rubyValue(value: string | number | boolean): string {
  return typeof value === 'string' ? rubyString(value) : String(value);
}

/** A hash of strings: `{'a' => 'b'}`; with `indent` each entry on a line of its own. */
export function rubyHash(entries: Readonly<Record<string, string>>, indent?: string): string {
  const pairs = Object.entries(entries).map(([key, value]) => `${rubyString(key)} => ${rubyString(value)}`);
  return `{${indent ?? ''}${pairs.join(indent === undefined ? ', ' : `,${indent}`)}}`;
}
