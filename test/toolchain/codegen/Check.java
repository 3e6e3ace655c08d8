import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;

/**
 * Reads lines "entity TAB row TAB family:qualifier:time:value,..." and answers for each "row TAB cells TAB properties TAB ranges",
 * or with what was thrown. Lines "entity TAB row" are answered by whether the row is one of the entity. All bytes are in hex.
 */
public final class Check {
  private Check() {}

  public static void main(String[] args) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, "UTF-8");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) out.println(answer(line.split("\t", -1)));
    out.flush();
  }

  private static String answer(String[] fields) throws Exception {
    Class<?> entity = Class.forName("Entities$" + fields[0]);
    byte[] row = bytes(fields[1]);
    if (fields.length == 2) return entity.getMethod("matchesKey", byte[].class).invoke(null, row).toString();
    Entities.Rowan.Cells cells = new Entities.Rowan.Cells();
    for (String cell : fields[2].isEmpty() ? new String[0] : fields[2].split(",")) {
      String[] parts = cell.split(":", -1);
      cells.add(parts[0], bytes(parts[1]), Long.parseLong(parts[2]), bytes(parts[3]));
    }
    try {
      Object found = entity.getMethod("decode", byte[].class, Entities.Rowan.Cells.class).invoke(null, row, cells);
      if (found == null) return "null";
      return key(entity, found) + "\t" + cells(entity, found) + "\t" + properties(entity, found) + "\t" + ranges(entity, found) + "\t" + entity.getMethod("matchesKey", byte[].class).invoke(null, row);
    } catch (InvocationTargetException e) {
      return String.valueOf(e.getCause());
    }
  }

  private static String key(Class<?> entity, Object found) throws Exception {
    return hex((byte[]) entity.getMethod("encodeKey").invoke(found));
  }

  private static String cells(Class<?> entity, Object found) throws Exception {
    List<String> cells = new ArrayList<>();
    for (Method method : entity.getMethods()) {
      if (!method.getName().equals("encodeCells")) continue;
      @SuppressWarnings("unchecked")
      NavigableMap<byte[], NavigableMap<byte[], byte[]>> values = (NavigableMap<byte[], NavigableMap<byte[], byte[]>>) method.invoke(found);
      values.forEach((family, columns) ->
          columns.forEach((qualifier, value) -> cells.add(new String(family, StandardCharsets.UTF_8) + ":" + hex(qualifier) + ":" + hex(value))));
      // What Result.getNoVersionMap gives is read as well.
      Object again = entity.getMethod("decode", byte[].class, Entities.Rowan.Cells.class)
          .invoke(null, entity.getMethod("encodeKey").invoke(found), Entities.Rowan.Cells.of(values));
      if (!properties(entity, found).equals(properties(entity, again))) throw new IllegalStateException("read again: " + properties(entity, again));
    }
    return String.join(",", cells);
  }

  private static String properties(Class<?> entity, Object found) throws Exception {
    List<String> shown = new ArrayList<>();
    for (Field field : entity.getFields()) {
      if (!Modifier.isStatic(field.getModifiers())) shown.add(field.getName() + "=" + text(field.get(found)));
    }
    return String.join(";", shown);
  }

  private static String ranges(Class<?> entity, Object found) throws Exception {
    Field names = entity.getDeclaredField("PARTS");
    names.setAccessible(true);
    String[] parts = (String[]) names.get(null);
    List<String> all = new ArrayList<>();
    for (int count = 1; count <= parts.length; count++) {
      for (Method method : entity.getMethods()) {
        if (!method.getName().equals("keyRanges") || method.getParameterCount() != count) continue;
        Object[] values = new Object[count];
        for (int i = 0; i < count; i++) values[i] = entity.getField(parts[i]).get(found);
        List<String> shown = new ArrayList<>();
        for (Object range : (List<?>) method.invoke(null, values)) {
          shown.add(hex(((Entities.Rowan.KeyRange) range).start) + "-" + hex(((Entities.Rowan.KeyRange) range).stop));
        }
        all.add(String.join(",", shown));
      }
    }
    return String.join(";", all);
  }

  private static String text(Object value) {
    if (value == null) return "-";
    if (value instanceof byte[]) return "b" + hex((byte[]) value);
    if (value instanceof Double) return "d" + String.format("%016x", Double.doubleToLongBits((Double) value));
    if (value instanceof Float) return "d" + String.format("%016x", Double.doubleToLongBits((Float) value));
    if (value instanceof BigDecimal) return "n" + ((BigDecimal) value).toPlainString();
    if (value instanceof Number) return "n" + value;
    if (value instanceof Boolean) return value.toString();
    if (value instanceof Instant) return "i" + ((Instant) value).toEpochMilli();
    if (value instanceof Map) {
      List<String> entries = new ArrayList<>();
      ((Map<?, ?>) value).forEach((key, inner) -> entries.add(text(key) + ">" + text(inner)));
      return "{" + String.join(" ", entries) + "}";
    }
    return "s" + hex(value.toString().getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] bytes(String hex) {
    byte[] bytes = new byte[hex.length() / 2];
    for (int i = 0; i < bytes.length; i++) bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
    return bytes;
  }

  private static String hex(byte[] bytes) {
    StringBuilder hex = new StringBuilder();
    for (byte one : bytes) hex.append(String.format("%02x", one & 0xff));
    return hex.toString();
  }
}
