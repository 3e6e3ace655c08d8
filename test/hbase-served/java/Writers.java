import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Clients that put and increment until the file is there that is the third argument: as many as the second says, each with a connection
 * of its own, to the table that is the first. Prints for each its number, its acknowledged puts (of rows "j0-0", "j0-1", …) and its increments (of row "j0").
 */
public class Writers {
  private static final byte[] FAMILY = Bytes.toBytes("f");
  private static volatile boolean running = true;

  private static String write(String writer, TableName name) throws Exception {
    int written = 0;
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
        Table table = connection.getTable(name)) {
      while (running) {
        byte[] value = Bytes.toBytes(written);
        table.put(new Put(Bytes.toBytes(writer + "-" + written)).addColumn(FAMILY, Bytes.toBytes("q"), value));
        table.incrementColumnValue(Bytes.toBytes(writer), FAMILY, Bytes.toBytes("n"), 1);
        written++;
      }
    }
    return "WRITTEN " + writer + " " + written;
  }

  public static void main(String[] args) throws Exception {
    TableName name = TableName.valueOf(args[0]);
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < Integer.parseInt(args[1]); i++) {
      String writer = "j" + i;
      Thread thread = new Thread(() -> {
        try {
          System.out.println(write(writer, name));
        } catch (Exception failure) {
          System.out.println("FAILED " + writer + " " + failure);
        }
      });
      threads.add(thread);
      thread.start();
    }
    while (!Files.exists(Path.of(args[2]))) Thread.sleep(20);
    running = false;
    for (Thread thread : threads) thread.join();
  }
}
