import { type BaseCodec, badValue } from '../codecs/base.js';
import { DateCodec } from '../codecs/date.js';
import type { KeyWriter } from '../codecs/writer.js';

/** UNSIGNED_DATE and UNSIGNED_TIME: `Bytes.toBytes(ms)` from 1970 on. */
export class UnsignedDateCodec extends DateCodec {
  override readonly ordered = true;

  override write(value: Date, out: KeyWriter): void {
    if (value instanceof Date && value.getTime() < 0) throw badValue(this.name, value, 'a time from 1970 on');
    super.write(value, out);
  }

  override get order(): BaseCodec<Date> {
    return this;
  }
}
