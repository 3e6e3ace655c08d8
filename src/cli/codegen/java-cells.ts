/** Generated Java: codecs' base, columns and cells, which are the same for all tables. Java 8 and later. */

/** The common code of every generated file, in the class `Rowan`. */
export const JAVA_CORE = String.raw`
    /** A value that a codec cannot hold, or bytes that are none of its values. */
    public static final class CodecException extends IllegalArgumentException {
      private static final long serialVersionUID = 1L;

      public CodecException(String message) {
        super(message);
      }
    }

    /** Turns values into bytes and back. */
    public abstract static class Codec<T> {
      abstract void write(T value, Out out);

      abstract T read(byte[] bytes, int start, int end);

      /** For a value that ends itself: its end, or -1. The bytes are inverted if mask is FF. */
      int endOf(byte[] bytes, int start, int mask) {
        return -1;
      }

      /** @throws CodecException if the value is null, or the codec cannot hold it. */
      public final byte[] encode(T value) {
        Out out = new Out();
        write(present(value), out);
        return out.copy();
      }

      /** @throws CodecException if the bytes are no value of the codec. */
      public final T decode(byte[] bytes) {
        return read(bytes, 0, bytes.length);
      }
    }

    /** A column of one cell, or with a codec of keys the cells of a Map, whose qualifiers begin with the qualifier. */
    public static final class Column<T> {
      public final String family;
      private final byte[] qualifier;
      public final Codec<T> codec;

      Column(String family, byte[] qualifier, Codec<T> codec) {
        this.family = family;
        this.qualifier = qualifier;
        this.codec = codec;
      }

      public byte[] qualifier() {
        return qualifier.clone();
      }
    }

    /** The rows from start, inclusive, to stop, exclusive. An empty stop is the end of the table. */
    public static final class KeyRange {
      public final byte[] start;
      public final byte[] stop;

      KeyRange(byte[] start, byte[] stop) {
        this.start = start;
        this.stop = stop;
      }

      /** The least row above all that begin with the prefix; empty if there is none. */
      static byte[] behind(byte[] prefix) {
        int length = prefix.length;
        while (length > 0 && prefix[length - 1] == (byte) 0xff) length--;
        byte[] stop = Arrays.copyOf(prefix, length);
        if (length > 0) stop[length - 1]++;
        return stop;
      }
    }

    /** The cells of one row. */
    public static final class Cells {
      private final Map<String, NavigableMap<byte[], NavigableMap<Long, byte[]>>> families = new HashMap<>();

      /** Adds a cell. */
      public Cells add(String family, byte[] qualifier, long timestamp, byte[] value) {
        families
            .computeIfAbsent(family, name -> new TreeMap<>(Rowan::compare))
            .computeIfAbsent(qualifier, name -> new TreeMap<>(Comparator.<Long>reverseOrder()))
            .put(timestamp, value);
        return this;
      }

      /** Of HBase's Result.getNoVersionMap(), or null: no cells. */
      public static Cells of(Map<byte[], ? extends Map<byte[], byte[]>> latest) {
        Cells cells = new Cells();
        if (latest != null) {
          latest.forEach((family, columns) -> {
            String name = new String(family, StandardCharsets.UTF_8);
            columns.forEach((qualifier, value) -> cells.add(name, qualifier, 0, value));
          });
        }
        return cells;
      }

      /** Of HBase's Result.getMap(), with all versions that were read, or null: no cells. */
      public static Cells ofVersions(Map<byte[], ? extends Map<byte[], ? extends Map<Long, byte[]>>> all) {
        Cells cells = new Cells();
        if (all != null) {
          all.forEach((family, columns) -> {
            String name = new String(family, StandardCharsets.UTF_8);
            columns.forEach((qualifier, versions) ->
                versions.forEach((time, value) -> cells.add(name, qualifier, time, value)));
          });
        }
        return cells;
      }

      /** Whether the row holds an entity, by its marker. */
      boolean hold(String family, byte[] marker, int version, boolean lifelong) {
        if (families.isEmpty()) return false;
        if (family == null) return true;
        byte[] value = get(family, marker);
        if (value == null) {
          NavigableMap<byte[], NavigableMap<Long, byte[]>> own = families.get(family);
          boolean shadow = families.size() == 1 && own != null && own.size() == 1 && own.containsKey(SHADOW);
          return !lifelong && !shadow;
        }
        if ((value.length == 1 || value.length == 9) && (value[0] & 0xff) != version)
          throw new CodecException("The row has version " + (value[0] & 0xff) + " of the entity, and this code reads version " + version + ".");
        return true;
      }

      byte[] get(String family, byte[] qualifier) {
        NavigableMap<Long, byte[]> versions = versions(family, qualifier);
        return versions.isEmpty() ? null : versions.firstEntry().getValue();
      }

      <T> T value(Column<T> column, String property) {
        byte[] value = get(column.family, column.qualifier);
        return value == null ? null : decoded(column.codec, value, property);
      }

      /** All versions of a column by timestamp, the newest first. */
      <T> NavigableMap<Long, T> history(Column<T> column, String property) {
        NavigableMap<Long, T> found = new TreeMap<>(Comparator.<Long>reverseOrder());
        versions(column.family, column.qualifier).forEach((time, value) -> found.put(time, decoded(column.codec, value, property)));
        return found;
      }

      /** The entries of a Map in the order of their qualifiers, without the marker. */
      <K, T> Map<K, T> entries(Column<T> column, Codec<K> keys, byte[] marker, String property) {
        Map<K, T> found = new LinkedHashMap<>();
        byte[] prefix = column.qualifier;
        families.getOrDefault(column.family, new TreeMap<>(Rowan::compare)).forEach((qualifier, versions) -> {
          if (!startsWith(qualifier, prefix) || Arrays.equals(qualifier, marker)) return;
          byte[] key = Arrays.copyOfRange(qualifier, prefix.length, qualifier.length);
          found.put(decoded(keys, key, property), decoded(column.codec, versions.firstEntry().getValue(), property));
        });
        return found;
      }

      private NavigableMap<Long, byte[]> versions(String family, byte[] qualifier) {
        NavigableMap<byte[], NavigableMap<Long, byte[]>> columns = families.get(family);
        NavigableMap<Long, byte[]> found = columns == null ? null : columns.get(qualifier);
        return found == null ? new TreeMap<>() : found;
      }
    }

    /** The values of a row by family and qualifier, as Cells.of takes them. */
    static NavigableMap<byte[], NavigableMap<byte[], byte[]>> values() {
      return new TreeMap<>(Rowan::compare);
    }

    static void put(NavigableMap<byte[], NavigableMap<byte[], byte[]>> values, String family, byte[] qualifier, byte[] value) {
      values.computeIfAbsent(family.getBytes(StandardCharsets.UTF_8), name -> new TreeMap<>(Rowan::compare)).put(qualifier, value);
    }

    static <T> void put(NavigableMap<byte[], NavigableMap<byte[], byte[]>> values, Column<T> column, T value) {
      if (value != null) put(values, column.family, column.qualifier(), column.codec.encode(value));
    }

    static <K, T> void putAll(NavigableMap<byte[], NavigableMap<byte[], byte[]>> values, Column<T> column, Codec<K> keys, Map<K, T> entries) {
      if (entries == null) return;
      entries.forEach((key, value) -> put(values, column.family, concat(column.qualifier, keys.encode(key)), column.codec.encode(value)));
    }

    private static <T> T decoded(Codec<T> codec, byte[] value, String property) {
      try {
        return codec.decode(value);
      } catch (CodecException e) {
        throw new CodecException("Property \"" + property + "\": " + e.getMessage());
      }
    }

    static <T> T present(T value) {
      if (value == null) throw new CodecException("The value is null.");
      return value;
    }

    static CodecException badValue(Object value, String expected) {
      return new CodecException(value + " cannot be stored: it must be " + expected + ".");
    }

    static CodecException badBytes(byte[] bytes, int start, int end, String why) {
      return new CodecException("The bytes " + hexOf(Arrays.copyOfRange(bytes, start, end)) + " cannot be read: " + why + ".");
    }

    static void requireLength(byte[] bytes, int start, int end, int length) {
      if (end - start != length) throw badBytes(bytes, start, end, "they must be " + length);
    }

    static int compare(byte[] a, byte[] b) {
      int common = Math.min(a.length, b.length);
      for (int i = 0; i < common; i++) {
        if (a[i] != b[i]) return (a[i] & 0xff) - (b[i] & 0xff);
      }
      return a.length - b.length;
    }

    static boolean startsWith(byte[] bytes, byte[] prefix) {
      if (bytes.length < prefix.length) return false;
      for (int i = 0; i < prefix.length; i++) if (bytes[i] != prefix[i]) return false;
      return true;
    }

    static byte[] concat(byte[] a, byte[] b) {
      byte[] all = Arrays.copyOf(a, a.length + b.length);
      System.arraycopy(b, 0, all, a.length, b.length);
      return all;
    }

    static byte[] hex(String digits) {
      byte[] bytes = new byte[digits.length() / 2];
      for (int i = 0; i < bytes.length; i++) bytes[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
      return bytes;
    }

    static String hexOf(byte[] bytes) {
      StringBuilder digits = new StringBuilder();
      for (byte one : bytes) digits.append(String.format("%02x", one & 0xff));
      return digits.toString();
    }

    private static final byte[] SHADOW = {0x5f, 0x78};

    /** Bytes that grow. */
    static final class Out {
      byte[] buffer = new byte[64];
      int length;

      void push(int value) {
        if (length == buffer.length) buffer = Arrays.copyOf(buffer, 2 * length);
        buffer[length++] = (byte) value;
      }

      void append(byte[] bytes) {
        append(bytes, 0, bytes.length);
      }

      void append(byte[] bytes, int start, int end) {
        for (int i = start; i < end; i++) push(bytes[i]);
      }

      /** Appends the lowest bytes of a number, big-endian. */
      void number(long value, int size) {
        for (int i = size - 1; i >= 0; i--) push((int) (value >> 8 * i));
      }

      /** Writes 00 as 00 FF from start on, and 00 01 after. */
      void escape(int start) {
        byte[] plain = Arrays.copyOfRange(buffer, start, length);
        length = start;
        for (byte one : plain) {
          push(one);
          if (one == 0) push(0xff);
        }
        push(0);
        push(1);
      }

      void invert(int start) {
        for (int i = start; i < length; i++) buffer[i] = (byte) ~buffer[i];
      }

      byte[] copy() {
        return Arrays.copyOf(buffer, length);
      }
    }
`;
