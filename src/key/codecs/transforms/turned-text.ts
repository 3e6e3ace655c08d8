import { BaseCodec, badValue, type Framing } from '../base.js';
import { text } from '../text.js';
import { readUtf8, writeUtf8 } from '../utf8.js';
import type { KeyWriter } from '../writer.js';

export abstract class TurnedTextCodec extends BaseCodec<string> {
  readonly fixedLength = undefined;
  override readonly framing: Framing = 'escaped';
  override readonly ordered = false;

  /** Its own inverse. */
  protected abstract turn(text: string): string;

  write(value: string, out: KeyWriter): void {
    if (typeof value !== 'string') throw badValue(this.name, value, 'a text');
    writeUtf8(this.turn(value), out, this.name);
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    return this.turn(readUtf8(bytes, start, end, this.name));
  }

  override writePrefix(value: unknown): boolean {
    if (typeof value !== 'string') throw badValue(this.name, value, 'a text');
    return value === '';
  }

  override get order(): BaseCodec<string> {
    return text as BaseCodec<string>;
  }
}
