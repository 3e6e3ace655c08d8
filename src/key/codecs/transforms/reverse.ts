import type { KeyWriter } from '../writer.js';
import { reverseText } from './reverse-text.js';
import { TurnedTextCodec } from './turned-text.js';

export class ReverseCodec extends TurnedTextCodec {
  readonly name = 'reverse(text)';

  protected turn(text: string): string {
    return reverseText(text);
  }

  override writeSuffix(value: unknown, out: KeyWriter): boolean {
    this.write(value as string, out);
    return true;
  }
}
