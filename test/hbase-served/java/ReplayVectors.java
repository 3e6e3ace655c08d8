import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import org.apache.hadoop.hbase.*;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.filter.*;
import org.apache.hadoop.hbase.filter.Filter;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;
import org.apache.hbase.thirdparty.com.google.gson.JsonParser;
import org.apache.hbase.thirdparty.com.google.gson.JsonPrimitive;

/**
 * Replays the sequences of the file that is its argument with HBase's Java client, each group in a table of its own, and prints each
 * answer that is not the recorded one; then how many sequences and answers it has compared.
 */
public class ReplayVectors {
  private final Table table;
  private final JsonArray ages;
  private final long start;

  private ReplayVectors(Table table, JsonObject sequence, long start) {
    this.table = table;
    this.ages = sequence.get("ages").isJsonNull() ? null : sequence.getAsJsonArray("ages");
    this.start = start;
  }

  private static byte[] bytes(JsonElement text) {
    return text.getAsString().getBytes(StandardCharsets.ISO_8859_1);
  }

  private static byte[] bytes(JsonObject of, String name) {
    return bytes(of.get(name));
  }

  private static boolean flag(JsonObject of, String name) {
    return of.has(name) && of.get(name).getAsBoolean();
  }

  private static String text(byte[] array, int offset, int length) {
    return new String(array, offset, length, StandardCharsets.ISO_8859_1);
  }

  private long time(JsonElement recorded) {
    int number = recorded.getAsInt();
    return ages == null || number == 0 ? number : start - ages.get(number).getAsLong() * 1000;
  }

  /** The recorded number of a timestamp: a sequence takes far less time than the ages lie apart. */
  private JsonPrimitive recordedTime(long timestamp) {
    JsonPrimitive now = new JsonPrimitive("now");
    if (ages == null) return timestamp < 1000 ? new JsonPrimitive(timestamp) : now;
    if (timestamp == 0) return new JsonPrimitive(0);
    for (int i = 1; i < ages.size(); i++) {
      if (Math.abs(ages.get(i).getAsLong() * 1000 - (start - timestamp)) < 300_000) return new JsonPrimitive(i);
    }
    return now;
  }

  private static String typeOf(Cell cell) {
    switch (cell.getType()) {
      case Put: return "P";
      case Delete: return "D";
      case DeleteColumn: return "DC";
      case DeleteFamily: return "DF";
      default: return "DFV";
    }
  }

  private void addCells(JsonArray cells, Result result) {
    if (result.isEmpty()) return;
    for (Cell cell : result.rawCells()) {
      JsonArray each = new JsonArray();
      each.add(text(cell.getRowArray(), cell.getRowOffset(), cell.getRowLength()));
      each.add(text(cell.getFamilyArray(), cell.getFamilyOffset(), cell.getFamilyLength()));
      each.add(text(cell.getQualifierArray(), cell.getQualifierOffset(), cell.getQualifierLength()));
      each.add(recordedTime(cell.getTimestamp()));
      each.add(typeOf(cell));
      each.add(text(cell.getValueArray(), cell.getValueOffset(), cell.getValueLength()));
      cells.add(each);
    }
  }

  /** The answer of a step; null for one without an answer. */
  private JsonElement run(JsonObject step) throws Exception {
    switch (step.get("op").getAsString()) {
      case "put":
        table.put((Put) mutation(step));
        return null;
      case "delete":
      case "deleteRow":
        table.delete((Delete) mutation(step));
        return null;
      case "mutateRow": {
        RowMutations together = new RowMutations(bytes(step, "row"));
        for (JsonElement each : step.getAsJsonArray("mutations")) together.add(mutation(each.getAsJsonObject()));
        table.mutateRow(together);
        return null;
      }
      case "increment":
        return new JsonPrimitive(table.incrementColumnValue(
            bytes(step, "row"), bytes(step, "family"), bytes(step, "qualifier"), step.get("by").getAsLong()));
      case "append": {
        Append append = new Append(bytes(step, "row"))
            .addColumn(bytes(step, "family"), bytes(step, "qualifier"), bytes(step, "value"));
        byte[] value = table.append(append).getValue(bytes(step, "family"), bytes(step, "qualifier"));
        return new JsonPrimitive(text(value, 0, value.length));
      }
      case "check":
        return new JsonPrimitive(table.checkAndMutate(check(step)).isSuccess());
      case "get": {
        Get get = new Get(bytes(step, "row"));
        if (step.has("versions")) get.readVersions(versions(step));
        if (step.has("timeRange")) get.setTimeRange(min(step), max(step));
        for (JsonElement family : list(step, "families")) get.addFamily(bytes(family));
        for (JsonElement each : list(step, "columns")) {
          get.addColumn(bytes(each.getAsJsonArray().get(0)), bytes(each.getAsJsonArray().get(1)));
        }
        if (step.has("filter")) get.setFilter(filter(step.getAsJsonObject("filter")));
        JsonArray cells = new JsonArray();
        addCells(cells, table.get(get));
        return cells;
      }
      default:
        return scan(step);
    }
  }

  private JsonArray scan(JsonObject step) throws Exception {
    Scan scan = new Scan().setReversed(flag(step, "reversed")).setRaw(flag(step, "raw"));
    scan.withStartRow(bytes(step, "start"), step.get("startInclusive").getAsBoolean());
    scan.withStopRow(bytes(step, "stop"), step.get("stopInclusive").getAsBoolean());
    if (step.has("limit")) scan.setLimit(step.get("limit").getAsInt());
    if (step.has("versions")) scan.readVersions(versions(step));
    if (step.has("timeRange")) scan.setTimeRange(min(step), max(step));
    for (JsonElement family : list(step, "families")) scan.addFamily(bytes(family));
    for (JsonElement each : list(step, "columns")) {
      scan.addColumn(bytes(each.getAsJsonArray().get(0)), bytes(each.getAsJsonArray().get(1)));
    }
    if (step.has("filter")) scan.setFilter(filter(step.getAsJsonObject("filter")));
    JsonArray cells = new JsonArray();
    try (ResultScanner scanner = table.getScanner(scan)) {
      for (Result result : scanner) addCells(cells, result);
    }
    return cells;
  }

  private static JsonArray list(JsonObject of, String name) {
    return of.has(name) ? of.getAsJsonArray(name) : new JsonArray();
  }

  private static int versions(JsonObject step) {
    JsonPrimitive versions = step.getAsJsonPrimitive("versions");
    return versions.isString() ? Integer.MAX_VALUE : versions.getAsInt();
  }

  private long min(JsonObject step) {
    JsonElement min = step.getAsJsonArray("timeRange").get(0);
    return min.isJsonNull() ? 0 : time(min);
  }

  private long max(JsonObject step) {
    JsonElement max = step.getAsJsonArray("timeRange").get(1);
    return max.isJsonNull() ? Long.MAX_VALUE : time(max);
  }

  private CheckAndMutate check(JsonObject step) throws Exception {
    byte[] family = bytes(step, "family");
    byte[] qualifier = bytes(step, "qualifier");
    CheckAndMutate.Builder builder = CheckAndMutate.newBuilder(bytes(step, "row"));
    String operator = step.get("cmp").getAsString();
    if (operator.equals("NOT_EXISTS")) builder.ifNotExists(family, qualifier);
    else builder.ifMatches(family, qualifier, CompareOperator.valueOf(operator), bytes(step, "value"));
    Mutation then = mutation(step.getAsJsonObject("then"));
    return then instanceof Put ? builder.build((Put) then) : builder.build((Delete) then);
  }

  private Mutation mutation(JsonObject step) throws Exception {
    byte[] row = bytes(step, "row");
    switch (step.get("op").getAsString()) {
      case "put": {
        Put put = new Put(row);
        if (step.has("cellTtlMs")) put.setTTL(step.get("cellTtlMs").getAsLong());
        for (JsonElement each : step.getAsJsonArray("cells")) {
          JsonArray cell = each.getAsJsonArray();
          put.addColumn(bytes(cell.get(0)), bytes(cell.get(1)), time(cell.get(2)), bytes(cell.get(3)));
        }
        return put;
      }
      case "deleteRow":
        return new Delete(row, time(step.get("ts")));
      default: {
        Delete delete = new Delete(row);
        for (JsonElement each : step.getAsJsonArray("items")) {
          JsonArray item = each.getAsJsonArray();
          byte[] family = bytes(item.get(1));
          switch (item.get(0).getAsString()) {
            case "column": delete.addColumn(family, bytes(item.get(2)), time(item.get(3))); break;
            case "columns": delete.addColumns(family, bytes(item.get(2)), time(item.get(3))); break;
            case "columnLatest": delete.addColumn(family, bytes(item.get(2))); break;
            case "family": delete.addFamily(family, time(item.get(2))); break;
            default: delete.addFamilyVersion(family, time(item.get(2)));
          }
        }
        return delete;
      }
    }
  }

  private Filter filter(JsonObject filter) {
    switch (filter.get("type").getAsString()) {
      case "prefix": return new PrefixFilter(bytes(filter, "value"));
      case "columnPrefix": return new ColumnPrefixFilter(bytes(filter, "value"));
      case "row": return new RowFilter(operator(filter), comparator(filter));
      case "family": return new FamilyFilter(operator(filter), comparator(filter));
      case "qualifier": return new QualifierFilter(operator(filter), comparator(filter));
      case "value": return new ValueFilter(operator(filter), comparator(filter));
      case "columnRange":
        return new ColumnRangeFilter(
            bytes(filter, "min"), flag(filter, "minInclusive"), bytes(filter, "max"), flag(filter, "maxInclusive"));
      case "firstKeyOnly": return new FirstKeyOnlyFilter();
      case "keyOnly": return new KeyOnlyFilter(flag(filter, "lenAsVal"));
      case "timestamps": {
        List<Long> timestamps = new ArrayList<>();
        for (JsonElement each : filter.getAsJsonArray("timestamps")) timestamps.add(time(each));
        return new TimestampsFilter(timestamps);
      }
      case "singleColumnValue": {
        SingleColumnValueFilter single = new SingleColumnValueFilter(
            bytes(filter, "family"), bytes(filter, "qualifier"), operator(filter), comparator(filter));
        single.setFilterIfMissing(flag(filter, "filterIfMissing"));
        single.setLatestVersionOnly(flag(filter, "latestVersionOnly"));
        return single;
      }
      case "multipleColumnPrefix": {
        JsonArray values = filter.getAsJsonArray("values");
        byte[][] prefixes = new byte[values.size()][];
        for (int i = 0; i < prefixes.length; i++) prefixes[i] = bytes(values.get(i));
        return new MultipleColumnPrefixFilter(prefixes);
      }
      case "inclusiveStop": return new InclusiveStopFilter(bytes(filter, "row"));
      case "columnPagination":
        return new ColumnPaginationFilter(filter.get("limit").getAsInt(), filter.get("offset").getAsInt());
      case "columnCount": return new ColumnCountGetFilter(filter.get("limit").getAsInt());
      case "page": return new PageFilter(filter.get("size").getAsLong());
      case "while": return new WhileMatchFilter(filter(filter.getAsJsonObject("filter")));
      case "skip": return new SkipFilter(filter(filter.getAsJsonObject("filter")));
      case "list": {
        FilterList list = new FilterList(filter.get("op").getAsString().equals("AND")
            ? FilterList.Operator.MUST_PASS_ALL : FilterList.Operator.MUST_PASS_ONE);
        for (JsonElement each : filter.getAsJsonArray("filters")) list.addFilter(filter(each.getAsJsonObject()));
        return list;
      }
      default: throw new IllegalArgumentException("an unknown filter: " + filter);
    }
  }

  private static CompareOperator operator(JsonObject filter) {
    return CompareOperator.valueOf(filter.get("cmp").getAsString());
  }

  private static BinaryComparator comparator(JsonObject filter) {
    return new BinaryComparator(bytes(filter, "value"));
  }

  private static TableDescriptor descriptorOf(TableName name, JsonObject sequence) {
    TableDescriptorBuilder table = TableDescriptorBuilder.newBuilder(name);
    for (JsonElement each : sequence.getAsJsonArray("families")) {
      JsonObject family = each.getAsJsonObject();
      ColumnFamilyDescriptorBuilder builder = ColumnFamilyDescriptorBuilder.newBuilder(bytes(family, "name"))
          .setMaxVersions(family.get("versions").getAsInt()).setMinVersions(family.get("minVersions").getAsInt())
          .setKeepDeletedCells(KeepDeletedCells.valueOf(family.get("keepDeletedCells").getAsString()))
          .setNewVersionBehavior(flag(family, "newVersionBehavior"));
      if (!family.get("ttl").isJsonNull()) builder.setTimeToLive(family.get("ttl").getAsInt());
      table.setColumnFamily(builder.build());
    }
    // As it was recorded: nothing is merged but by a step.
    return table.setValue("hbase.hstore.compaction.min", "100").setValue("hbase.hstore.blockingStoreFiles", "200").build();
  }

  /** Waits until the files of a table are merged, as the recording did. */
  private static void majorCompact(Admin admin, TableName name) throws Exception {
    admin.majorCompact(name);
    while (admin.getCompactionState(name) != CompactionState.NONE) Thread.sleep(5);
  }

  public static void main(String[] args) throws Exception {
    Map<String, List<JsonObject>> groups = new LinkedHashMap<>();
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(
        new GZIPInputStream(new FileInputStream(args[0])), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        JsonObject sequence = JsonParser.parseString(line).getAsJsonObject();
        String id = sequence.get("id").getAsString();
        groups.computeIfAbsent(id.substring(0, id.lastIndexOf('.')), group -> new ArrayList<>()).add(sequence);
      }
    }
    int every = Integer.parseInt(args[1]);
    int index = 0;
    int sequences = 0;
    int answers = 0;
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
        Admin admin = connection.getAdmin()) {
      for (Map.Entry<String, List<JsonObject>> group : groups.entrySet()) {
        if (index++ % every != 0) continue;
        TableName name = TableName.valueOf("vectors_" + group.getKey().replace('.', '_'));
        admin.createTable(descriptorOf(name, group.getValue().get(0)));
        long start = System.currentTimeMillis();
        int steps = group.getValue().get(0).getAsJsonArray("steps").size();
        sequences += group.getValue().size();
        try (Table table = connection.getTable(name)) {
          for (int step = 0; step < steps; step++) {
            for (JsonObject sequence : group.getValue()) {
              JsonObject operation = sequence.getAsJsonArray("steps").get(step).getAsJsonObject();
              String kind = operation.get("op").getAsString();
              if (kind.equals("flush") || kind.equals("major")) {
                if (sequence != group.getValue().get(0)) continue;
                admin.flush(name);
                if (kind.equals("major")) majorCompact(admin, name);
                continue;
              }
              JsonElement answered = new ReplayVectors(table, sequence, start).run(operation);
              if (answered == null) continue;
              answers++;
              if (!answered.equals(operation.get("expect"))) {
                System.out.println("DIFFERENCE " + sequence.get("id") + " step " + step + ": " + operation + " answered " + answered);
              }
            }
          }
        }
        admin.disableTable(name);
        admin.deleteTable(name);
      }
    }
    System.out.println("REPLAYED " + sequences + " " + answers);
  }
}
