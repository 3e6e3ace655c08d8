/** Generated Java: row keys, step by step, as `src/key/layout/steps` writes them. */

/** Keys of constants and parts. */
export const JAVA_KEYS = String.raw`
    /** A step of a key, left to right. */
    abstract static class Step {
      /** The parts that it is computed from. */
      final List<String> names;

      Step(String... names) {
        this.names = Arrays.asList(names);
      }

      boolean isKnown(Map<String, Object> parts) {
        for (String name : names) if (!parts.containsKey(name)) return false;
        return true;
      }

      abstract void write(Map<String, Object> parts, Out out);

      /** The end of its bytes, or -1 if they are not there. */
      abstract int end(byte[] row, int at);

      void read(byte[] row, int at, int end, Map<String, Object> parts) {}

      /** What may stand here in keys with these parts; nothing where the parts do not tell. */
      List<byte[]> choices(Step[] steps, Map<String, Object> parts) {
        if (!isKnown(parts)) return Collections.emptyList();
        Out out = new Out();
        write(parts, out);
        return Collections.singletonList(out.copy());
      }

      /** Completes a key that is written but for the bytes of this step. ends has the end of each step. */
      void fill(Out out, int[] ends, int index) {}

      boolean isRandom() {
        return false;
      }
    }

    /** The values of leading parts by their names. */
    static Map<String, Object> parts(String[] names, Object... values) {
      Map<String, Object> parts = new HashMap<>();
      for (int i = 0; i < values.length; i++) {
        if (values[i] == null) throw new CodecException("Key part \"" + names[i] + "\" has no value.");
        parts.put(names[i], values[i]);
      }
      return parts;
    }

    /** A layout of row keys. */
    static final class Key {
      private final Step[] steps;

      Key(Step... steps) {
        this.steps = steps;
      }

      byte[] encode(Map<String, Object> parts) {
        Out out = new Out();
        int[] ends = new int[steps.length];
        for (int i = 0; i < steps.length; i++) {
          steps[i].write(parts, out);
          ends[i] = out.length;
        }
        // A salt may be computed over another after it.
        for (int i = steps.length - 1; i >= 0; i--) steps[i].fill(out, ends, i);
        if (out.length == 0 || out.length > 32767) throw new CodecException("The row key has " + out.length + " bytes. A table takes 1 to 32767.");
        return out.copy();
      }

      /** The parts that the row holds whole. */
      Map<String, Object> decode(byte[] row) {
        Map<String, Object> parts = new HashMap<>();
        int at = 0;
        for (Step step : steps) {
          int end = step.end(row, at);
          if (end < 0) throw new CodecException("The row " + hexOf(row) + " does not have this layout at byte " + at + ".");
          step.read(row, at, end, parts);
          at = end;
        }
        if (at != row.length) throw new CodecException("The row " + hexOf(row) + " has bytes behind its last part.");
        return parts;
      }

      boolean matches(byte[] row) {
        int at = 0;
        for (int i = 0; i < steps.length && at >= 0; i++) at = steps[i].end(row, at);
        return at == row.length;
      }

      /** The ranges of the rows with these values of leading parts. */
      List<KeyRange> ranges(Map<String, Object> parts) {
        boolean whole = true;
        boolean random = false;
        for (Step step : steps) {
          whole &= step.isKnown(parts);
          random |= step.isRandom();
        }
        List<byte[]> leads = new ArrayList<>();
        if (whole && !random) {
          leads.add(encode(parts));
        } else {
          leads.add(new byte[0]);
          for (Step step : steps) {
            List<byte[]> next = step.choices(steps, parts);
            if (next.isEmpty()) break;
            List<byte[]> longer = new ArrayList<>();
            for (byte[] lead : leads) for (byte[] bytes : next) longer.add(concat(lead, bytes));
            leads = longer;
          }
        }
        List<KeyRange> ranges = new ArrayList<>();
        for (byte[] lead : leads) {
          ranges.add(new KeyRange(lead, whole ? concat(lead, new byte[1]) : KeyRange.behind(lead)));
        }
        ranges.sort((a, b) -> compare(a.start, b.start));
        return ranges;
      }
    }

    /** Bytes that are the same in every key. */
    static final class Constant extends Step {
      private final byte[] bytes;

      Constant(byte[] bytes) {
        this.bytes = bytes;
      }

      @Override
      void write(Map<String, Object> parts, Out out) {
        out.append(bytes);
      }

      @Override
      int end(byte[] row, int at) {
        int end = at + bytes.length;
        return end <= row.length && Arrays.equals(Arrays.copyOfRange(row, at, end), bytes) ? end : -1;
      }
    }

    enum Ending { LENGTH, SELF, ESCAPED, SEPARATED, ROW }

    /** A part as its codec writes it. */
    static final class Field<T> extends Step {
      private final String name;
      private final Codec<T> codec;
      private final Ending ending;
      /** The length, or the byte that separates. */
      private final int detail;
      private final int mask;

      Field(String name, Codec<T> codec, Ending ending, int detail, boolean inverted) {
        super(name);
        this.name = name;
        this.codec = codec;
        this.ending = ending;
        this.detail = detail;
        this.mask = inverted ? 0xff : 0;
      }

      @Override
      void write(Map<String, Object> parts, Out out) {
        int start = out.length;
        writePart(name, codec, parts, out);
        if (ending == Ending.ESCAPED) out.escape(start);
        if (codecSeparates()) {
          for (int i = start; i < out.length; i++) {
            if (out.buffer[i] == detail) throw new CodecException("Key part \"" + name + "\": the text has the byte " + detail + ", which ends it.");
          }
        }
        if (ending == Ending.SEPARATED) out.push(detail);
        if (mask != 0) out.invert(start);
      }

      private boolean codecSeparates() {
        return ending == Ending.SEPARATED || (ending == Ending.ROW && detail >= 0);
      }

      @Override
      int end(byte[] row, int at) {
        switch (ending) {
          case LENGTH:
            return at + detail <= row.length ? at + detail : -1;
          case SELF:
            return codec.endOf(row, at, mask);
          case ROW:
            return row.length;
          case SEPARATED:
            for (int i = at; i < row.length; i++) if ((row[i] & 0xff) == (detail ^ mask)) return i + 1;
            return -1;
          default:
            for (int i = at; i + 1 < row.length; i++) {
              if ((row[i] & 0xff) != mask) continue;
              int next = (row[i + 1] & 0xff) ^ mask;
              if (next == 1) return i + 2;
              if (next != 0xff) return -1;
              i++;
            }
            return -1;
        }
      }

      @Override
      void read(byte[] row, int at, int end, Map<String, Object> parts) {
        int last = ending == Ending.ESCAPED ? end - 2 : ending == Ending.SEPARATED ? end - 1 : end;
        Out plain = new Out();
        for (int i = at; i < last; i++) {
          int value = (row[i] & 0xff) ^ mask;
          plain.push(value);
          if (value == 0 && ending == Ending.ESCAPED) i++;
        }
        parts.put(name, decoded(codec, plain.copy(), name));
      }
    }

    /** Writes the bytes of a part. Its type is that of its codec: the generated methods take no other. */
    @SuppressWarnings("unchecked")
    static <T> void writePart(String name, Codec<T> codec, Map<String, Object> parts, Out out) {
      try {
        codec.write((T) parts.get(name), out);
      } catch (CodecException e) {
        throw new CodecException("Key part \"" + name + "\": " + e.getMessage());
      }
    }
`;

/** Steps of keys that not every table has, by the kind of the step. */
export const JAVA_STEPS: Readonly<Record<'salt' | 'bucket' | 'hash' | 'timeBucket', string>> = {
  salt: `
    /** Bytes computed from the key that spread rows. */
    static final class Salt extends Step {
      private final int buckets;
      /** The bytes of each salt, or null for one byte. */
      private final byte[][] prefixes;
      /** First and last step of each range that is hashed; null for Phoenix's hash of all bytes after the salt. */
      private final int[][] runs;
      private final boolean random;

      Salt(int buckets, byte[][] prefixes, int[][] runs, boolean random) {
        this.buckets = buckets;
        this.prefixes = prefixes;
        this.runs = runs;
        this.random = random;
      }

      private byte[] bytesOf(int salt) {
        return prefixes == null ? new byte[] {(byte) salt} : prefixes[salt];
      }

      @Override
      void write(Map<String, Object> parts, Out out) {
        out.append(bytesOf(0));
      }

      @Override
      boolean isRandom() {
        return random;
      }

      @Override
      void fill(Out out, int[] ends, int index) {
        int salt;
        if (random) {
          salt = ThreadLocalRandom.current().nextInt(buckets);
        } else if (runs == null) {
          int sum = 1;
          for (int i = ends[index]; i < out.length; i++) sum = 31 * sum + out.buffer[i];
          salt = Math.abs(sum % buckets);
        } else {
          Out hashed = new Out();
          for (int[] run : runs) hashed.append(out.buffer, run[0] == 0 ? 0 : ends[run[0] - 1], ends[run[1]]);
          salt = saltOf(hashed);
        }
        byte[] bytes = bytesOf(salt);
        System.arraycopy(bytes, 0, out.buffer, ends[index] - bytes.length, bytes.length);
      }

      private int saltOf(Out hashed) {
        return (int) (Integer.toUnsignedLong(murmur3(hashed.copy())) % buckets);
      }

      @Override
      List<byte[]> choices(Step[] steps, Map<String, Object> parts) {
        Out hashed = new Out();
        boolean known = !random && runs != null;
        for (int r = 0; known && r < runs.length; r++) {
          for (int i = runs[r][0]; known && i <= runs[r][1]; i++) {
            known = steps[i].isKnown(parts);
            if (known) steps[i].write(parts, hashed);
          }
        }
        if (known) return Collections.singletonList(bytesOf(saltOf(hashed)));
        List<byte[]> all = new ArrayList<>();
        for (int i = 0; i < buckets; i++) all.add(bytesOf(i));
        return all;
      }

      @Override
      int end(byte[] row, int at) {
        int end = at + bytesOf(0).length;
        if (end > row.length) return -1;
        if (prefixes == null) return (row[at] & 0xff) < buckets ? end : -1;
        for (byte[] prefix : prefixes) if (Arrays.equals(prefix, Arrays.copyOfRange(row, at, end))) return end;
        return -1;
      }
    }
`,
  bucket: `
    /** A part modulo a number. */
    static final class Bucket extends Step {
      private final String part;
      private final int buckets;

      Bucket(String part, int buckets) {
        super(part);
        this.part = part;
        this.buckets = buckets;
      }

      @Override
      List<byte[]> choices(Step[] steps, Map<String, Object> parts) {
        if (isKnown(parts)) return super.choices(steps, parts);
        List<byte[]> all = new ArrayList<>();
        for (int i = 0; i < buckets; i++) all.add(new byte[] {(byte) i});
        return all;
      }

      @Override
      void write(Map<String, Object> parts, Out out) {
        out.push(modulo(parts.get(part), buckets).intValue());
      }

      @Override
      int end(byte[] row, int at) {
        return at < row.length && (row[at] & 0xff) < buckets ? at + 1 : -1;
      }
    }
`,
  hash: `
    /** A part that a digest is computed from. */
    static final class Source<T> {
      final String name;
      private final Codec<T> codec;
      private final boolean ended;

      Source(String name, Codec<T> codec, boolean ended) {
        this.name = name;
        this.codec = codec;
        this.ended = ended;
      }

      void gather(Map<String, Object> parts, long divisor, Out hashed) {
        int start = hashed.length;
        writePart(name, codec, parts, hashed);
        if (divisor > 0) {
          hashed.length = start;
          hashed.append(modulo(parts.get(name), divisor).toString().getBytes(StandardCharsets.ISO_8859_1));
        }
        if (ended) hashed.escape(start);
      }
    }

    /** A digest of parts. */
    static final class Hash extends Step {
      private final String algorithm;
      private final int bytes;
      private final boolean hex;
      private final long divisor;
      private final Source<?>[] sources;

      Hash(String algorithm, int bytes, boolean hex, long divisor, Source<?>... sources) {
        super(Arrays.stream(sources).map(source -> source.name).toArray(String[]::new));
        this.algorithm = algorithm;
        this.bytes = bytes;
        this.hex = hex;
        this.divisor = divisor;
        this.sources = sources;
      }

      @Override
      void write(Map<String, Object> parts, Out out) {
        Out hashed = new Out();
        for (Source<?> source : sources) source.gather(parts, divisor, hashed);
        byte[] kept = Arrays.copyOf(digest(hashed.copy()), bytes);
        out.append(hex ? hexOf(kept).getBytes(StandardCharsets.ISO_8859_1) : kept);
      }

      private byte[] digest(byte[] input) {
        if (algorithm.equals("murmur3")) return ByteBuffer.allocate(4).putInt(murmur3(input)).array();
        try {
          return MessageDigest.getInstance(algorithm).digest(input);
        } catch (NoSuchAlgorithmException e) {
          throw new IllegalStateException(e);
        }
      }

      @Override
      int end(byte[] row, int at) {
        int end = at + (hex ? 2 * bytes : bytes);
        return end <= row.length ? end : -1;
      }
    }
`,
  timeBucket: `
    /** The start of the time span that holds a part's time. */
    static final class TimeBucket extends Step {
      private final String name;
      private final long span;
      private final int width;
      private final boolean inverted;

      TimeBucket(String name, long span, int width, boolean inverted) {
        super(name);
        this.name = name;
        this.span = span;
        this.width = width;
        this.inverted = inverted;
      }

      @Override
      void write(Map<String, Object> parts, Out out) {
        Instant value = (Instant) parts.get(name);
        long start = bucketStart(value, span);
        int from = out.length;
        if (width == 4 && (start < 0 || start / 1000 > 0xffffffffL)) throw badValue(value, "from 1970 to 2106");
        out.number(width == 8 ? start ^ Long.MIN_VALUE : start / 1000, width);
        if (inverted) out.invert(from);
      }

      @Override
      int end(byte[] row, int at) {
        return at + width <= row.length ? at + width : -1;
      }

      /** The start is there under the name of the part with its span, for packed columns. */
      @Override
      void read(byte[] row, int at, int end, Map<String, Object> parts) {
        long value = 0;
        for (int i = at; i < end; i++) value = value << 8 | (inverted ? ~row[i] & 0xff : row[i] & 0xff);
        parts.put(name + "/" + span, Instant.ofEpochMilli(width == 8 ? value ^ Long.MIN_VALUE : 1000 * value));
      }
    }

    static long bucketStart(Instant time, long span) {
      return Math.floorDiv(time.toEpochMilli(), span) * span;
    }
`,
};

/** For buckets and digests. */
export const JAVA_MODULO = `
    /** The remainder, 0 to n - 1, of a number or of the milliseconds of a time. */
    static BigInteger modulo(Object value, long n) {
      BigInteger number = value instanceof Instant ? BigInteger.valueOf(((Instant) value).toEpochMilli()) : new BigDecimal(String.valueOf(value)).toBigIntegerExact();
      return number.mod(BigInteger.valueOf(n));
    }
`;

/** MurmurHash3 (x86, 32 bits, seed 0), for salts and digests. */
export const JAVA_MURMUR = `
    static int murmur3(byte[] bytes) {
      int state = 0;
      int body = bytes.length & ~3;
      for (int i = 0; i < body; i += 4) {
        int word = bytes[i] & 0xff | (bytes[i + 1] & 0xff) << 8 | (bytes[i + 2] & 0xff) << 16 | bytes[i + 3] << 24;
        state = Integer.rotateLeft(state ^ scrambled(word), 13) * 5 + 0xe6546b64;
      }
      if (body < bytes.length) {
        int rest = 0;
        for (int i = bytes.length - 1; i >= body; i--) rest = rest << 8 | bytes[i] & 0xff;
        state ^= scrambled(rest);
      }
      state ^= bytes.length;
      state = (state ^ state >>> 16) * 0x85ebca6b;
      state = (state ^ state >>> 13) * 0xc2b2ae35;
      return state ^ state >>> 16;
    }

    private static int scrambled(int word) {
      return Integer.rotateLeft(word * 0xcc9e2d51, 15) * 0x1b873593;
    }
`;
