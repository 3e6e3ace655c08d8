/** Generated Java: codecs of numbers and times. A file has those that its tables use. */

import type { Pieces } from './pieces.js';

export const JAVA_VALUES: Pieces = {
  Whole: {
    source: `
    /** A whole number of 1 to 8 bytes, big-endian, the first byte XOR flip. */
    static final class LongNumber extends Codec<Long> {
      private final int size;
      private final long min;
      private final long max;
      private final int flip;

      LongNumber(int size, long min, long max, int flip) {
        this.size = size;
        this.min = min;
        this.max = max;
        this.flip = flip;
      }

      @Override
      void write(Long value, Out out) {
        if (value < min || value > max) throw badValue(value, "from " + min + " to " + max);
        int start = out.length;
        out.number(value, size);
        out.buffer[start] ^= flip;
      }

      @Override
      Long read(byte[] bytes, int start, int end) {
        requireLength(bytes, start, end, size);
        long first = (bytes[start] ^ flip) & 0xff;
        long value = min < 0 ? (byte) first : first;
        for (int i = start + 1; i < end; i++) value = value << 8 | bytes[i] & 0xff;
        if (value < min || value > max) throw badBytes(bytes, start, end, "the number is not from " + min + " to " + max);
        return value;
      }
    }

    static final class IntNumber extends Codec<Integer> {
      private final LongNumber number;

      IntNumber(int size, int min, int max, int flip) {
        number = new LongNumber(size, min, max, flip);
      }

      @Override
      void write(Integer value, Out out) {
        number.write((long) value, out);
      }

      @Override
      Integer read(byte[] bytes, int start, int end) {
        return number.read(bytes, start, end).intValue();
      }
    }
`,
  },
  UnsignedLong: {
    source: `
    /** A whole number from 0 to 2^64 - 1. */
    static final class UnsignedLong extends Codec<BigInteger> {
      @Override
      void write(BigInteger value, Out out) {
        if (value.signum() < 0 || value.bitLength() > 64) throw badValue(value, "from 0 to 2^64 - 1");
        out.number(value.longValue(), 8);
      }

      @Override
      BigInteger read(byte[] bytes, int start, int end) {
        requireLength(bytes, start, end, 8);
        return new BigInteger(1, Arrays.copyOfRange(bytes, start, end));
      }
    }
`,
  },
  BigNumber: {
    source: `
    /** A whole number of up to 127 bytes: a byte with sign and length, the magnitude, inverted if it is negative. */
    static final class BigNumber extends Codec<BigInteger> {
      @Override
      void write(BigInteger value, Out out) {
        byte[] signed = value.abs().toByteArray();
        byte[] magnitude = signed[0] == 0 ? Arrays.copyOfRange(signed, 1, signed.length) : signed;
        if (magnitude.length > 127) throw badValue(value, "a number of at most 127 bytes");
        out.push(value.signum() < 0 ? 0x7f - magnitude.length : 0x80 + magnitude.length);
        int start = out.length;
        out.append(magnitude);
        if (value.signum() < 0) out.invert(start);
      }

      private static int sizeOf(int head) {
        return head >= 0x80 ? head - 0x80 : 0x7f - head;
      }

      @Override
      int endOf(byte[] bytes, int start, int mask) {
        if (start >= bytes.length) return -1;
        int end = start + 1 + sizeOf(bytes[start] & 0xff ^ mask);
        return end <= bytes.length ? end : -1;
      }

      @Override
      BigInteger read(byte[] bytes, int start, int end) {
        int head = start < end ? bytes[start] & 0xff : 0x7f;
        if (head == 0x7f || end - start != 1 + sizeOf(head)) throw badBytes(bytes, start, end, "the length is wrong");
        Out magnitude = new Out();
        magnitude.append(bytes, start + 1, end);
        if (head < 0x80) magnitude.invert(0);
        if (magnitude.length > 0 && magnitude.buffer[0] == 0) throw badBytes(bytes, start, end, "the number has leading zeros");
        return new BigInteger(head < 0x80 ? -1 : magnitude.length == 0 ? 0 : 1, magnitude.copy());
      }
    }
`,
  },
  Decimal: {
    needs: ['BigNumber'],
    source: `
    /** An exact decimal number of a scale. A number with more decimals is refused. */
    static final class Decimal extends Codec<BigDecimal> {
      private final int scale;
      private final BigNumber number = new BigNumber();

      Decimal(int scale) {
        this.scale = scale;
      }

      @Override
      void write(BigDecimal value, Out out) {
        try {
          number.write(value.setScale(scale, RoundingMode.UNNECESSARY).unscaledValue(), out);
        } catch (ArithmeticException e) {
          throw badValue(value, "a number of at most " + scale + " decimals");
        }
      }

      @Override
      int endOf(byte[] bytes, int start, int mask) {
        return number.endOf(bytes, start, mask);
      }

      @Override
      BigDecimal read(byte[] bytes, int start, int end) {
        return new BigDecimal(number.read(bytes, start, end), scale);
      }
    }
`,
  },
  RawDecimal: {
    source: `
    /** As HBase's Bytes.toBytes(BigDecimal). */
    static final class RawDecimal extends Codec<BigDecimal> {
      @Override
      void write(BigDecimal value, Out out) {
        out.number(value.scale(), 4);
        out.append(value.unscaledValue().toByteArray());
      }

      @Override
      BigDecimal read(byte[] bytes, int start, int end) {
        if (end - start < 5) throw badBytes(bytes, start, end, "they must be at least 5");
        return new BigDecimal(new BigInteger(Arrays.copyOfRange(bytes, start + 4, end)), ByteBuffer.wrap(bytes).getInt(start));
      }
    }
`,
  },
  DoubleFloat: {
    source: `
    /** 64 bits of IEEE 754, in the order of the numbers or as HBase's Bytes.toBytes(double). */
    static final class DoubleFloat extends Codec<Double> {
      private final boolean raw;
      /** Phoenix adds 1 to the bytes. */
      private final int added;

      DoubleFloat(boolean raw, int added) {
        this.raw = raw;
        this.added = added;
      }

      @Override
      void write(Double value, Out out) {
        if (!raw && value.isNaN()) throw badValue(value, "a number");
        long bits = Double.doubleToLongBits(!raw && value == 0 ? 0.0 : value);
        out.number(raw ? bits : (bits < 0 ? ~bits : bits ^ Long.MIN_VALUE) + added, 8);
      }

      @Override
      Double read(byte[] bytes, int start, int end) {
        requireLength(bytes, start, end, 8);
        long bits = ByteBuffer.wrap(bytes).getLong(start);
        if (!raw) {
          bits -= added;
          bits = bits < 0 ? bits ^ Long.MIN_VALUE : ~bits;
          if (bits == Long.MIN_VALUE || Double.isNaN(Double.longBitsToDouble(bits))) throw badBytes(bytes, start, end, "it is NaN or -0");
        }
        return Double.longBitsToDouble(bits);
      }
    }
`,
  },
  SingleFloat: {
    source: `
    /** 32 bits of IEEE 754, in the order of the numbers or as HBase's Bytes.toBytes(float). */
    static final class SingleFloat extends Codec<Float> {
      private final boolean raw;
      /** Phoenix adds 1 to the bytes. */
      private final int added;

      SingleFloat(boolean raw, int added) {
        this.raw = raw;
        this.added = added;
      }

      @Override
      void write(Float value, Out out) {
        if (!raw && value.isNaN()) throw badValue(value, "a number");
        int bits = Float.floatToIntBits(!raw && value == 0 ? 0.0f : value);
        out.number(raw ? bits : (bits < 0 ? ~bits : bits ^ Integer.MIN_VALUE) + added, 4);
      }

      @Override
      Float read(byte[] bytes, int start, int end) {
        requireLength(bytes, start, end, 4);
        int bits = ByteBuffer.wrap(bytes).getInt(start);
        if (!raw) {
          bits -= added;
          bits = bits < 0 ? bits ^ Integer.MIN_VALUE : ~bits;
          if (bits == Integer.MIN_VALUE || Float.isNaN(Float.intBitsToFloat(bits))) throw badBytes(bytes, start, end, "it is NaN or -0");
        }
        return Float.intBitsToFloat(bits);
      }
    }
`,
  },
  Flag: {
    source: `
    /** 00 or another byte. */
    static final class Flag extends Codec<Boolean> {
      private final int yes;

      Flag(int yes) {
        this.yes = yes;
      }

      @Override
      void write(Boolean value, Out out) {
        out.push(value ? yes : 0);
      }

      @Override
      Boolean read(byte[] bytes, int start, int end) {
        requireLength(bytes, start, end, 1);
        int value = bytes[start] & 0xff;
        if (value != 0 && value != yes) throw badBytes(bytes, start, end, "it is neither 0 nor " + yes);
        return value != 0;
      }
    }
`,
  },
  Date: {
    source: `
    /** Milliseconds since 1970, 8 bytes, the first one XOR flip. */
    static final class Date extends Codec<Instant> {
      private final int flip;
      private final boolean unsigned;

      Date(int flip, boolean unsigned) {
        this.flip = flip;
        this.unsigned = unsigned;
      }

      @Override
      void write(Instant value, Out out) {
        int start = out.length;
        out.number(millisOf(value), 8);
        out.buffer[start] ^= flip;
        if (unsigned && out.buffer[start] < 0) throw badValue(value, "a time not before 1970");
      }

      @Override
      Instant read(byte[] bytes, int start, int end) {
        requireLength(bytes, start, end, 8);
        long ms = ByteBuffer.wrap(bytes).getLong(start) ^ (long) flip << 56;
        if (ms < (unsigned ? 0 : -MAX_DATE) || ms > MAX_DATE) throw badBytes(bytes, start, end, "the time is out of range");
        return Instant.ofEpochMilli(ms);
      }
    }

    /** The furthest from 1970 that Rowan stores, in milliseconds. */
    static final long MAX_DATE = 8_640_000_000_000_000L;

    static long millisOf(Instant time) {
      if (time.getNano() % 1_000_000 != 0) throw badValue(time, "a time in whole milliseconds (truncatedTo(ChronoUnit.MILLIS))");
      if (Math.abs(time.getEpochSecond()) > MAX_DATE / 1000) throw badValue(time, "within 100,000,000 days of 1970");
      return time.toEpochMilli();
    }
`,
  },
  PhoenixTimestamp: {
    needs: ['Date'],
    source: `
    /** Phoenix's TIMESTAMP without nanoseconds. */
    static final class PhoenixTimestamp extends Codec<Instant> {
      private final Date date = new Date(0x80, false);

      @Override
      void write(Instant value, Out out) {
        date.write(value, out);
        out.number(0, 4);
      }

      @Override
      Instant read(byte[] bytes, int start, int end) {
        requireLength(bytes, start, end, 12);
        if (ByteBuffer.wrap(bytes).getInt(start + 8) != 0) throw badBytes(bytes, start, end, "they have nanoseconds");
        return date.read(bytes, start, start + 8);
      }
    }
`,
  },
  ReverseTime: {
    needs: ['Date'],
    source: `
    /** Long.MAX_VALUE less the milliseconds, in 8 bytes or 19 digits. */
    static final class ReverseMillis extends Codec<Long> {
      private final boolean text;

      ReverseMillis(boolean text) {
        this.text = text;
      }

      @Override
      void write(Long value, Out out) {
        if (Math.abs(value) >= 1L << 53) throw badValue(value, "within 2^53 - 1");
        if (text && value < 0) throw badValue(value, "a time not before 1970");
        if (text) out.append(Long.toString(Long.MAX_VALUE - value).getBytes(StandardCharsets.ISO_8859_1));
        else out.number(Long.MAX_VALUE - value, 8);
      }

      @Override
      Long read(byte[] bytes, int start, int end) {
        requireLength(bytes, start, end, text ? 19 : 8);
        long value = text ? digits(bytes, start, end) : ByteBuffer.wrap(bytes).getLong(start);
        return Long.MAX_VALUE - value;
      }

      private static long digits(byte[] bytes, int start, int end) {
        try {
          return Long.parseUnsignedLong(new String(bytes, start, end - start, StandardCharsets.ISO_8859_1));
        } catch (NumberFormatException e) {
          throw badBytes(bytes, start, end, "they are not digits");
        }
      }
    }

    static final class ReverseTime extends Codec<Instant> {
      private final ReverseMillis millis;

      ReverseTime(boolean text) {
        millis = new ReverseMillis(text);
      }

      @Override
      void write(Instant value, Out out) {
        millis.write(millisOf(value), out);
      }

      @Override
      Instant read(byte[] bytes, int start, int end) {
        return Instant.ofEpochMilli(millis.read(bytes, start, end));
      }
    }
`,
  },
  Members: {
    needs: ['Whole'],
    source: `
    /** One of some numbers. */
    static final class Members extends Codec<Integer> {
      private final IntNumber number;
      private final List<Integer> members;

      Members(int size, Integer... members) {
        this.number = new IntNumber(size, 0, 0xffff, 0);
        this.members = Arrays.asList(members);
      }

      @Override
      void write(Integer value, Out out) {
        if (!members.contains(value)) throw badValue(value, "one of " + members);
        number.write(value, out);
      }

      @Override
      Integer read(byte[] bytes, int start, int end) {
        Integer value = number.read(bytes, start, end);
        if (!members.contains(value)) throw badBytes(bytes, start, end, "no member is " + value);
        return value;
      }
    }
`,
  },
  Offset: {
    needs: ['Whole'],
    source: `
    /** Times of packed columns, as distances from the start of the row's time bucket. */
    static final class Offset extends Codec<Instant> {
      private final long start;
      private final long unit;
      private final long width;
      private final LongNumber number;

      Offset(Instant start, long unit, long width, int size) {
        this.start = start.toEpochMilli();
        this.unit = unit;
        this.width = width;
        this.number = new LongNumber(size, 0, (1L << 8 * size) - 1, 0);
      }

      @Override
      void write(Instant value, Out out) {
        long distance = value.toEpochMilli() - start;
        if (distance < 0 || distance >= width || distance % unit != 0) throw badValue(value, "in the time bucket of the row, in steps of " + unit + " ms");
        number.write(distance / unit, out);
      }

      @Override
      Instant read(byte[] bytes, int start, int end) {
        return Instant.ofEpochMilli(this.start + unit * number.read(bytes, start, end));
      }
    }
`,
  },
  Desc: {
    source: `
    /** The bytes of a codec with every bit inverted. */
    static final class Desc<T> extends Codec<T> {
      private final Codec<T> inner;

      Desc(Codec<T> inner) {
        this.inner = inner;
      }

      @Override
      void write(T value, Out out) {
        int start = out.length;
        inner.write(value, out);
        out.invert(start);
      }

      @Override
      T read(byte[] bytes, int start, int end) {
        Out plain = new Out();
        plain.append(bytes, start, end);
        plain.invert(0);
        return inner.decode(plain.copy());
      }
    }
`,
  },
};
