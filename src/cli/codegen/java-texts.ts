/** Generated Java: codecs of texts and bytes. A file has those that its tables use. */

import type { Pieces } from './pieces.js';

export const JAVA_TEXTS: Pieces = {
  Binary: {
    source: `
    static final class Binary extends Codec<byte[]> {
      @Override
      void write(byte[] value, Out out) {
        out.append(value);
      }

      @Override
      byte[] read(byte[] bytes, int start, int end) {
        return Arrays.copyOfRange(bytes, start, end);
      }
    }
`,
  },
  FixedBinary: {
    source: `
    /** Bytes of one length; with a padding up to that length. */
    static final class FixedBinary extends Codec<byte[]> {
      private final int width;
      private final int pad;

      FixedBinary(int width, int pad) {
        this.width = width;
        this.pad = pad;
      }

      @Override
      void write(byte[] value, Out out) {
        if (value.length > width || pad < 0 && value.length < width) throw badValue(hexOf(value), (pad < 0 ? "" : "at most ") + width + " bytes");
        if (pad >= 0) {
          if (value.length > 0 && (value[value.length - 1] & 0xff) == pad) throw badValue(hexOf(value), "bytes that do not end with the padding");
          for (byte one : value) if ((one & 0xff) < pad) throw badValue(hexOf(value), "bytes of at least the padding");
        }
        out.append(value);
        for (int i = value.length; i < width; i++) out.push(pad);
      }

      @Override
      byte[] read(byte[] bytes, int start, int end) {
        requireLength(bytes, start, end, width);
        int last = end;
        while (pad >= 0 && last > start && (bytes[last - 1] & 0xff) == pad) last--;
        for (int i = start; i < last; i++) if ((bytes[i] & 0xff) < pad) throw badBytes(bytes, start, end, "one is below the padding");
        return Arrays.copyOfRange(bytes, start, last);
      }
    }
`,
  },
  Text: {
    source: `
    /** UTF-8. */
    static final class Text extends Codec<String> {
      @Override
      void write(String value, Out out) {
        try {
          ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(value));
          out.append(bytes.array(), 0, bytes.limit());
        } catch (CharacterCodingException e) {
          throw badValue(value, "well-formed text");
        }
      }

      @Override
      String read(byte[] bytes, int start, int end) {
        try {
          return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, start, end - start)).toString();
        } catch (CharacterCodingException e) {
          throw badBytes(bytes, start, end, "they are not well-formed UTF-8");
        }
      }
    }
`,
  },
  FixedText: {
    needs: ['Text', 'FixedBinary'],
    source: `
    /** Text up to a number of bytes, padded. */
    static final class FixedText extends Codec<String> {
      private final FixedBinary bytes;
      private final Text text = new Text();

      FixedText(int width, int pad) {
        bytes = new FixedBinary(width, pad);
      }

      @Override
      void write(String value, Out out) {
        bytes.write(text.encode(value), out);
      }

      @Override
      String read(byte[] own, int start, int end) {
        return text.decode(bytes.read(own, start, end));
      }
    }
`,
  },
  Uuid: {
    source: `
    static final class Uuid extends Codec<UUID> {
      @Override
      void write(UUID value, Out out) {
        out.number(value.getMostSignificantBits(), 8);
        out.number(value.getLeastSignificantBits(), 8);
      }

      @Override
      UUID read(byte[] bytes, int start, int end) {
        requireLength(bytes, start, end, 16);
        ByteBuffer view = ByteBuffer.wrap(bytes);
        return new UUID(view.getLong(start), view.getLong(start + 8));
      }
    }
`,
  },
  BaseText: {
    source: `
    /** A number of some bytes, with zero bits after it, as digits of a base: ULID, KSUID, geohash. */
    static final class BaseText extends Codec<String> {
      private final String alphabet;
      private final int digits;
      private final int size;
      private final int behind;

      BaseText(String alphabet, int digits, int size, int behind) {
        this.alphabet = alphabet;
        this.digits = digits;
        this.size = size;
        this.behind = behind;
      }

      @Override
      void write(String value, Out out) {
        BigInteger base = BigInteger.valueOf(alphabet.length());
        BigInteger number = BigInteger.ZERO;
        for (int i = 0; i < value.length(); i++) {
          int digit = alphabet.indexOf(value.charAt(i));
          if (digit < 0) throw badValue(value, "of the characters " + alphabet);
          number = number.multiply(base).add(BigInteger.valueOf(digit));
        }
        if (value.length() != digits || number.bitLength() > 8 * size - behind) throw badValue(value, digits + " characters for " + size + " bytes");
        for (int i = size - 1; i >= 0; i--) out.push(number.shiftLeft(behind).shiftRight(8 * i).intValue());
      }

      @Override
      String read(byte[] bytes, int start, int end) {
        requireLength(bytes, start, end, size);
        BigInteger whole = new BigInteger(1, Arrays.copyOfRange(bytes, start, end));
        BigInteger number = whole.shiftRight(behind);
        if (!number.shiftLeft(behind).equals(whole)) throw badBytes(bytes, start, end, "they have bits behind the last digit");
        BigInteger base = BigInteger.valueOf(alphabet.length());
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < digits; i++, number = number.divide(base)) text.append(alphabet.charAt(number.mod(base).intValue()));
        return text.reverse().toString();
      }
    }
`,
  },
  Names: {
    needs: ['Whole'],
    source: `
    /** One of some names, stored as its id. */
    static final class Names extends Codec<String> {
      private final IntNumber number;
      private final Map<String, Integer> ids = new LinkedHashMap<>();
      private final Map<Integer, String> names = new HashMap<>();

      Names(int size) {
        number = new IntNumber(size, 0, 0xffff, 0);
      }

      Names with(String name, int id) {
        ids.put(name, id);
        names.put(id, name);
        return this;
      }

      @Override
      void write(String value, Out out) {
        Integer id = ids.get(value);
        if (id == null) throw badValue(value, "one of " + ids.keySet());
        number.write(id, out);
      }

      @Override
      String read(byte[] bytes, int start, int end) {
        String name = names.get(number.read(bytes, start, end));
        if (name == null) throw badBytes(bytes, start, end, "no name has this id");
        return name;
      }
    }
`,
  },
  Digits: {
    source: `
    /** Decimal digits of a width, forwards or backwards. */
    static final class TextDigits extends Codec<String> {
      private final int width;
      private final boolean reversed;

      TextDigits(int width, boolean reversed) {
        this.width = width;
        this.reversed = reversed;
      }

      @Override
      void write(String value, Out out) {
        if (value.length() != width || !value.chars().allMatch(c -> c >= '0' && c <= '9')) throw badValue(value, width + " digits");
        String digits = reversed ? new StringBuilder(value).reverse().toString() : value;
        out.append(digits.getBytes(StandardCharsets.ISO_8859_1));
      }

      @Override
      String read(byte[] bytes, int start, int end) {
        requireLength(bytes, start, end, width);
        for (int i = start; i < end; i++) if (bytes[i] < '0' || bytes[i] > '9') throw badBytes(bytes, start, end, "they are not digits");
        String digits = new String(bytes, start, end - start, StandardCharsets.ISO_8859_1);
        return reversed ? new StringBuilder(digits).reverse().toString() : digits;
      }
    }

    static final class BigDigits extends Codec<BigInteger> {
      private final int width;
      private final TextDigits text;

      BigDigits(int width, boolean reversed) {
        this.width = width;
        this.text = new TextDigits(width, reversed);
      }

      @Override
      void write(BigInteger value, Out out) {
        String digits = value.toString();
        if (value.signum() < 0 || digits.length() > width) throw badValue(value, "a number of at most " + width + " digits");
        StringBuilder padded = new StringBuilder();
        for (int i = digits.length(); i < width; i++) padded.append('0');
        text.write(padded + digits, out);
      }

      @Override
      BigInteger read(byte[] bytes, int start, int end) {
        return new BigInteger(text.read(bytes, start, end));
      }
    }

    static final class LongDigits extends Codec<Long> {
      private final BigDigits digits;

      LongDigits(int width, boolean reversed) {
        digits = new BigDigits(width, reversed);
      }

      @Override
      void write(Long value, Out out) {
        if (value >= 1L << 53) throw badValue(value, "at most 2^53 - 1");
        digits.write(BigInteger.valueOf(value), out);
      }

      @Override
      Long read(byte[] bytes, int start, int end) {
        BigInteger value = digits.read(bytes, start, end);
        if (value.bitLength() > 53) throw badBytes(bytes, start, end, "the number is above 2^53 - 1");
        return value.longValue();
      }
    }
`,
  },
  Reverse: {
    needs: ['Text'],
    source: `
    /** A text backwards, character by character. */
    static final class Reverse extends Codec<String> {
      private final Text text = new Text();

      @Override
      void write(String value, Out out) {
        text.write(new StringBuilder(value).reverse().toString(), out);
      }

      @Override
      String read(byte[] bytes, int start, int end) {
        return new StringBuilder(text.read(bytes, start, end)).reverse().toString();
      }
    }
`,
  },
  ReverseDomain: {
    needs: ['Text'],
    source: String.raw`
    /** The labels of a domain backwards. */
    static final class ReverseDomain extends Codec<String> {
      private final Text text = new Text();

      private static String turn(String domain) {
        List<String> labels = Arrays.asList(domain.split("\\.", -1));
        Collections.reverse(labels);
        return String.join(".", labels);
      }

      @Override
      void write(String value, Out out) {
        text.write(turn(value), out);
      }

      @Override
      String read(byte[] bytes, int start, int end) {
        return turn(text.read(bytes, start, end));
      }
    }
`,
  },
  Address: {
    source: String.raw`
    /** An IPv4 address, an IPv6 address as RFC 5952 writes it, or a network of either. */
    static final class Address extends Codec<String> {
      enum Kind { V4, V6, NETWORK }

      private static final byte[] MAPPED = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1};
      private final Kind kind;

      Address(Kind kind) {
        this.kind = kind;
      }

      @Override
      void write(String value, Out out) {
        byte[] bytes = kind == Kind.V4 ? parse4(value) : kind == Kind.V6 ? parse6(value) : parseNetwork(value);
        if (bytes == null) throw badValue(value, kind == Kind.NETWORK ? "a network that is zero behind its prefix" : "an address in its short form");
        out.append(bytes);
      }

      @Override
      String read(byte[] bytes, int start, int end) {
        byte[] own = Arrays.copyOfRange(bytes, start, end);
        requireLength(bytes, start, end, kind == Kind.V4 ? 4 : kind == Kind.V6 ? 16 : 17);
        if (kind == Kind.V4) return format4(own, 0);
        if (kind == Kind.V6) return format6(own);
        int bits = own[16] & 0xff;
        boolean isV4 = bits >= 96 && startsWith(own, MAPPED);
        String text = isV4 ? format4(own, 12) + "/" + (bits - 96) : format6(own) + "/" + bits;
        if (!Arrays.equals(parseNetwork(text), own)) throw badBytes(bytes, start, end, "address and prefix do not fit together");
        return text;
      }

      private static byte[] parse4(String text) {
        String[] numbers = text.split("\\.", -1);
        if (numbers.length != 4) return null;
        byte[] bytes = new byte[4];
        for (int i = 0; i < 4; i++) {
          if (!numbers[i].matches("0|[1-9][0-9]{0,2}") || Integer.parseInt(numbers[i]) > 255) return null;
          bytes[i] = (byte) Integer.parseInt(numbers[i]);
        }
        return bytes;
      }

      private static String format4(byte[] bytes, int at) {
        return (bytes[at] & 0xff) + "." + (bytes[at + 1] & 0xff) + "." + (bytes[at + 2] & 0xff) + "." + (bytes[at + 3] & 0xff);
      }

      private static byte[] parse6(String text) {
        byte[] mapped = text.startsWith("::ffff:") ? parse4(text.substring(7)) : null;
        if (mapped != null) return concat(MAPPED, mapped);
        String[] sides = text.split("::", -1);
        List<String> head = groups(sides[0]);
        List<String> tail = sides.length == 2 ? groups(sides[1]) : Collections.emptyList();
        int count = head.size() + tail.size();
        if (sides.length > 2 || (sides.length == 1 ? count != 8 : count > 6)) return null;
        byte[] bytes = new byte[16];
        for (int i = 0; i < count; i++) {
          String group = i < head.size() ? head.get(i) : tail.get(i - head.size());
          if (!group.matches("[0-9a-f]{1,4}")) return null;
          int value = Integer.parseInt(group, 16);
          int at = i < head.size() ? i : 8 - count + i;
          bytes[2 * at] = (byte) (value >> 8);
          bytes[2 * at + 1] = (byte) value;
        }
        return format6(bytes).equals(text) ? bytes : null;
      }

      private static List<String> groups(String text) {
        return text.isEmpty() ? Collections.emptyList() : Arrays.asList(text.split(":", -1));
      }

      /** The first of the longest runs of zeros is shortened; one zero is not. */
      private static String format6(byte[] bytes) {
        if (startsWith(bytes, MAPPED)) return "::ffff:" + format4(bytes, 12);
        int from = 8;
        int length = 1;
        for (int i = 0; i < 8; i++) {
          int end = i;
          while (end < 8 && bytes[2 * end] == 0 && bytes[2 * end + 1] == 0) end++;
          if (end - i > length) {
            from = i;
            length = end - i;
          }
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 8; i++) {
          if (i == from) {
            text.append("::");
            i += length - 1;
            continue;
          }
          if (text.length() > 0 && text.charAt(text.length() - 1) != ':') text.append(':');
          text.append(Integer.toHexString((bytes[2 * i] & 0xff) << 8 | bytes[2 * i + 1] & 0xff));
        }
        return text.toString();
      }

      private static byte[] parseNetwork(String text) {
        String[] sides = text.split("/", -1);
        if (sides.length != 2 || !sides[1].matches("0|[1-9][0-9]{0,2}")) return null;
        boolean isV4 = !sides[0].contains(":");
        byte[] address = isV4 ? parse4(sides[0]) : parse6(sides[0]);
        int bits = Integer.parseInt(sides[1]);
        if (address == null || bits > 8 * address.length || !isV4 && startsWith(address, MAPPED)) return null;
        for (int i = bits; i < 8 * address.length; i++) if ((address[i / 8] >> 7 - i % 8 & 1) != 0) return null;
        byte[] whole = isV4 ? concat(MAPPED, address) : address;
        return concat(whole, new byte[] {(byte) (isV4 ? 96 + bits : bits)});
      }
    }
`,
  },
};
