import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.avro.Conversions;
import org.apache.avro.Schema;
import org.apache.avro.SchemaNormalization;
import org.apache.avro.data.TimeConversions;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.message.BinaryMessageDecoder;
import org.apache.avro.message.BinaryMessageEncoder;

/** What Apache Avro for Java makes of Rowan's bytes, and bytes of its own for Rowan to read. Works in one folder. */
public final class AvroPeer {
  private static final GenericData MODEL = new GenericData();

  static {
    MODEL.addLogicalTypeConversion(new Conversions.DecimalConversion());
    MODEL.addLogicalTypeConversion(new Conversions.UUIDConversion());
    MODEL.addLogicalTypeConversion(new TimeConversions.DateConversion());
    MODEL.addLogicalTypeConversion(new TimeConversions.TimestampMillisConversion());
  }

  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    Schema first = new Schema.Parser().parse(Files.readString(folder.resolve("first.avsc")));
    Schema second = new Schema.Parser().parse(Files.readString(folder.resolve("second.avsc")));

    byte[] written = Files.readAllBytes(folder.resolve("node.bin"));
    Files.writeString(folder.resolve("as-first.txt"), show(new BinaryMessageDecoder<GenericRecord>(MODEL, first).decode(written)));
    BinaryMessageDecoder<GenericRecord> later = new BinaryMessageDecoder<>(MODEL, second);
    later.addSchema(first);
    Files.writeString(folder.resolve("as-second.txt"), show(later.decode(written)));

    ByteBuffer own = new BinaryMessageEncoder<GenericRecord>(MODEL, first).encode(sample(first));
    byte[] bytes = new byte[own.remaining()];
    own.get(bytes);
    Files.write(folder.resolve("java.bin"), bytes);

    List<String> lines = new ArrayList<>();
    for (String line : Files.readAllLines(folder.resolve("schemas.txt"))) {
      Schema schema = new Schema.Parser().parse(line);
      byte[] fingerprint = SchemaNormalization.parsingFingerprint("CRC-64-AVRO", schema);
      lines.add(HexFormat.of().formatHex(fingerprint) + " " + SchemaNormalization.toParsingForm(schema));
    }
    Files.write(folder.resolve("fingerprints.txt"), lines);
  }

  private static GenericRecord sample(Schema schema) {
    GenericRecord record = new GenericData.Record(schema);
    record.put("text", "\u00e9\ud83d\ude00");
    record.put("flag", true);
    record.put("small", -5);
    record.put("large", 9007199254740990L);
    record.put("huge", Long.MIN_VALUE);
    record.put("single", 1.5f);
    record.put("real", -0.1);
    record.put("blob", ByteBuffer.wrap(new byte[] {0, -1}));
    record.put("day", LocalDate.parse("1969-12-31"));
    record.put("at", Instant.ofEpochMilli(-1));
    record.put("id", UUID.fromString("00112233-4455-6677-8899-aabbccddeeff"));
    record.put("price", new BigDecimal("-1234567890.12"));
    record.put("digest", new GenericData.Fixed(schema.getField("digest").schema(), new byte[] {1, 2, 3, 4}));
    record.put("state", new GenericData.EnumSymbol(schema.getField("state").schema(), "SHIPPED"));
    record.put("tags", List.of("a", ""));
    Map<String, Object> sums = new LinkedHashMap<>();
    sums.put("x", new BigDecimal("128.0"));
    record.put("sums", sums);
    record.put("note", null);
    record.put("paid", Instant.ofEpochMilli(1_700_000_000_123L));
    Schema line = schema.getField("lines").schema().getElementType();
    GenericRecord one = new GenericData.Record(line);
    one.put("sku", "a");
    one.put("price", new BigDecimal("0.001"));
    record.put("lines", List.of(one));
    return record;
  }

  /** A line for each field: its name and its value as Java shows it. */
  private static String show(GenericRecord record) {
    StringBuilder out = new StringBuilder();
    for (Schema.Field field : record.getSchema().getFields()) {
      out.append(field.name()).append(" = ").append(text(record.get(field.pos()))).append('\n');
    }
    return out.toString();
  }

  private static String text(Object value) {
    if (value instanceof ByteBuffer buffer) {
      byte[] bytes = new byte[buffer.remaining()];
      buffer.duplicate().get(bytes);
      return HexFormat.of().formatHex(bytes);
    }
    if (value instanceof GenericData.Fixed fixed) return HexFormat.of().formatHex(fixed.bytes());
    if (value instanceof GenericRecord record) return "{" + show(record).replace("\n", ";") + "}";
    if (value instanceof List<?> list) return list.stream().map(AvroPeer::text).toList().toString();
    return String.valueOf(value);
  }
}
