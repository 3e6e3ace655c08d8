import { badValue } from '../base.js';
import { IntegerCodec } from '../integers.js';
import type { KeyWriter } from '../writer.js';

/** An id that a dictionary gave: whole numbers, whose order says nothing about the values they stand for. */
export class IdCodec extends IntegerCodec {
  override readonly ordered = false;
  override readonly hasRanges = false;

  constructor(dictionary: string, bytes: number) {
    super(`id${bytes}(${dictionary})`, bytes, 0, Math.min(256 ** bytes - 1, Number.MAX_SAFE_INTEGER));
  }

  override write(value: number, out: KeyWriter): void {
    if (typeof value === 'string') {
      throw badValue(
        this.name,
        value,
        "the dictionary's id of the text; bind the layout to its dictionaries first",
      );
    }
    super.write(value, out);
  }
}
