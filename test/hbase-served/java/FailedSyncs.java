import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Makes each kind of change twice, on a server of its own whose log fails at the first, and prints what the client threw: the messages of
 * the exception and of its causes. Then reads a row. The first argument is the setting that names the server, the others are the servers, of which
 * there are as many as kinds.
 */
public class FailedSyncs {
  private static final TableName NAME = TableName.valueOf("t");
  private static final byte[] F = Bytes.toBytes("f");
  private static final byte[] Q = Bytes.toBytes("q");
  private static final byte[] ROW = Bytes.toBytes("r");

  interface Change {
    void make(Connection connection, Table table) throws Exception;
  }

  private static Put put() {
    return new Put(ROW).addColumn(F, Q, Q);
  }

  private static Map<String, Change> changes() {
    Map<String, Change> changes = new LinkedHashMap<>();
    changes.put("put", (connection, table) -> table.put(put()));
    changes.put("puts", (connection, table) -> table.put(List.of(put(), new Put(Q).addColumn(F, Q, Q))));
    changes.put("delete", (connection, table) -> table.delete(new Delete(ROW)));
    changes.put("increment", (connection, table) -> table.incrementColumnValue(ROW, F, F, 1));
    changes.put("append", (connection, table) -> table.append(new Append(ROW).addColumn(F, Q, Q)));
    changes.put("check", (connection, table) ->
        table.checkAndMutate(CheckAndMutate.newBuilder(ROW).ifNotExists(F, Q).build(put())));
    changes.put("checkRow", (connection, table) -> {
      List<Mutation> together = List.of(put(), new Increment(ROW).addColumn(F, F, 1));
      table.checkAndMutate(CheckAndMutate.newBuilder(ROW).ifNotExists(F, Q).build(RowMutations.of(together)));
    });
    changes.put("row", (connection, table) ->
        table.mutateRow(RowMutations.of(List.of(put(), new Delete(ROW).addColumns(F, F)))));
    changes.put("batch", (connection, table) ->
        table.batch(List.of(put(), new Increment(Q).addColumn(F, F, 1)), new Object[2]));
    changes.put("buffer", (connection, table) -> {
      try (BufferedMutator mutator = connection.getBufferedMutator(NAME)) {
        mutator.mutate(put());
      }
    });
    changes.put("async", (connection, table) -> {
      try (AsyncConnection async = ConnectionFactory.createAsyncConnection(connection.getConfiguration()).get()) {
        async.getTable(NAME).put(put()).get();
      }
    });
    return changes;
  }

  private static String outcome(Change change, Connection connection, Table table) {
    try {
      change.make(connection, table);
      return "no exception";
    } catch (Exception thrown) {
      return text(thrown).replaceAll("\\s+", " ");
    }
  }

  private static String text(Throwable thrown) {
    StringBuilder text = new StringBuilder();
    for (Throwable t = thrown; t != null; t = t.getCause()) {
      text.append(t).append(" <- ");
      if (t instanceof RetriesExhaustedWithDetailsException) {
        for (Throwable cause : ((RetriesExhaustedWithDetailsException) t).getCauses()) text.append(text(cause));
      }
    }
    return text.toString();
  }

  public static void main(String[] args) throws Exception {
    int next = 1;
    for (Map.Entry<String, Change> each : changes().entrySet()) {
      Configuration conf = HBaseConfiguration.create();
      conf.set(args[0], args[next++]);
      try (Connection connection = ConnectionFactory.createConnection(conf); Table table = connection.getTable(NAME)) {
        for (String time : List.of("first", "later")) {
          System.out.println(time + "\t" + each.getKey() + "\t" + outcome(each.getValue(), connection, table));
        }
        System.out.println("read\t" + each.getKey() + "\t" + table.exists(new Get(Bytes.toBytes("before"))));
      }
    }
  }
}
