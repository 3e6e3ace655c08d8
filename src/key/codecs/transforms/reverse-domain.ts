import { badValue } from '../base.js';
import { writeUtf8 } from '../utf8.js';
import type { KeyWriter } from '../writer.js';
import { TurnedTextCodec } from './turned-text.js';

export class ReverseDomainCodec extends TurnedTextCodec {
  readonly name = 'reverseDomain(text)';

  protected turn(text: string): string {
    return text.split('.').reverse().join('.');
  }

  /** Of ".apache.org" the bytes of "org.apache."; what stands before the first point may be the end of a label. */
  override writeSuffix(value: unknown, out: KeyWriter): boolean {
    if (typeof value !== 'string') throw badValue(this.name, value, 'a text');
    const labels = value.split('.');
    const partial = labels.shift()!;
    const known = labels.reverse().map((label) => `${label}.`);
    if (partial !== '' && known.length === 0) return false;
    writeUtf8(known.join(''), out, this.name);
    return partial === '';
  }
}
