import { EMPTY_BYTES } from '../../bytes/index.js';
import type { KeyWriter } from './writer.js';

/**
 * A text as the codec `text` has written it: where a key holds the same bytes they are copied, and no string is made of them.
 * One is filled again for each value.
 */
export class StoredText {
  private bytes: Uint8Array = EMPTY_BYTES;
  private start = 0;
  private end = 0;

  /** Takes `bytes[start..end)`. False: they are not all ASCII, and may be no text. */
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
