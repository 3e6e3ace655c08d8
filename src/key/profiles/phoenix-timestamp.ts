import { BaseCodec, badBytes } from '../codecs/base.js';
import { date } from '../codecs/date.js';
import { wrongLength } from '../codecs/integer-bytes.js';
import type { KeyWriter } from '../codecs/writer.js';

/** TIMESTAMP: ms as DATE has them, then 4 bytes of nanoseconds below the millisecond, which a Date has none of. */
export class PhoenixTimestampCodec extends BaseCodec<Date> {
  readonly name = 'phoenix.timestamp';
  readonly fixedLength = 12;

  write(value: Date, out: KeyWriter): void {
    (date as BaseCodec<Date>).write(value, out);
    for (let i = 0; i < 4; i++) out.push(0);
  }

  read(bytes: Uint8Array, start: number, end: number): Date {
    if (end - start !== 12) throw wrongLength(this, bytes, start, end);
    if (bytes.subarray(start + 8, end).some((byte) => byte !== 0)) {
      throw badBytes(
        this.name,
        bytes,
        start,
        end,
        'it has nanoseconds, which a Date cannot hold; read it as fixedBytes(12)',
      );
    }
    return (date as BaseCodec<Date>).read(bytes, start, start + 8);
  }
}
