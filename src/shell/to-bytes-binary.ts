/**
 * Java's `Bytes.toBytesBinary`, as HBase reads split keys: `\xHH` with upper-case digits is a byte; a backslash that begins
 * nothing of the kind is dropped.
 */
export function bytesOfBinary(text: string): Uint8Array {
  const out: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const hex = /^\\x([0-9A-F]{2})/.exec(text.slice(i, i + 4));
    if (hex !== null) {
      out.push(Number.parseInt(hex[1]!, 16));
      i += 3;
    } else if (text[i] !== '\\' || text[i + 1] !== 'x') out.push(text.charCodeAt(i));
  }
  return Uint8Array.from(out);
}
