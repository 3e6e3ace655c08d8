package org.apache.hadoop.hbase;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Stands before HBase's class of this name on the class path, so that HBase's own tests run against a server that is there
 * already: the one of hbase-site.xml. It starts and stops nothing. What it lacks are servers inside the process of the test.
 */
@SuppressWarnings("deprecation")
public class HBaseTestingUtility extends HBaseCommonTestingUtility {
  public static final byte[] fam1 = Bytes.toBytes("colfamily11");
  public static final byte[] fam2 = Bytes.toBytes("colfamily21");
  public static final byte[] fam3 = Bytes.toBytes("colfamily31");
  /** "aaa" to "zzz". */
  public static final byte[][] ROWS = rows();
  /** "bbb", "ccc", to "zzz": where the second and further regions of a table of many regions begin. */
  public static final byte[][] KEYS_FOR_HBA_CREATE_TABLE =
      IntStream.rangeClosed('b', 'z').mapToObj(c -> Bytes.toBytes(Character.toString(c).repeat(3))).toArray(byte[][]::new);

  private static final int VERSIONS_OF_DESCRIPTORS = 3;

  private final MiniHBaseCluster cluster = new MiniHBaseCluster(this);
  private Connection connection;
  private Admin admin;

  public HBaseTestingUtility() {
    this(HBaseConfiguration.create());
  }

  public HBaseTestingUtility(Configuration configuration) {
    super(configuration);
  }

  private static byte[][] rows() {
    byte[][] rows = new byte[26 * 26 * 26][];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = new byte[] { (byte) ('a' + i / 676), (byte) ('a' + i / 26 % 26), (byte) ('a' + i % 26) };
    }
    return rows;
  }

  /** Leaves no table of tests before, as in a cluster that was started now. */
  public MiniHBaseCluster startMiniCluster() throws IOException {
    for (TableName name : getAdmin().listTableNames()) deleteTable(name);
    return cluster;
  }

  public MiniHBaseCluster startMiniCluster(int servers) throws IOException {
    return startMiniCluster();
  }

  public MiniHBaseCluster startMiniCluster(StartMiniClusterOption option) throws IOException {
    return startMiniCluster();
  }

  public MiniHBaseCluster getMiniHBaseCluster() {
    return cluster;
  }

  public MiniHBaseCluster getHBaseCluster() {
    return cluster;
  }

  public void shutdownMiniCluster() throws IOException {
    if (connection != null) connection.close();
    connection = null;
    admin = null;
  }

  public synchronized Connection getConnection() throws IOException {
    if (connection == null) connection = ConnectionFactory.createConnection(conf);
    return connection;
  }

  public synchronized Admin getAdmin() throws IOException {
    if (admin == null) admin = getConnection().getAdmin();
    return admin;
  }

  public void flush() throws IOException {
    for (TableName name : getAdmin().listTableNames()) getAdmin().flush(name);
  }

  public void flush(TableName name) throws IOException {
    getAdmin().flush(name);
  }

  public Table createTable(TableDescriptor table, byte[][] splits) throws IOException {
    getAdmin().createTable(table, splits);
    return getConnection().getTable(table.getTableName());
  }

  public Table createTable(TableDescriptor table, byte[][] families, byte[][] splits, BloomType bloom, int blockSize,
      Configuration configuration) throws IOException {
    TableDescriptorBuilder builder = TableDescriptorBuilder.newBuilder(table);
    for (byte[] family : families) {
      builder.setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(family).setBloomFilterType(bloom)
          .setBlocksize(blockSize).build());
    }
    return createTable(builder.build(), splits);
  }

  public Table createTable(TableDescriptor table, byte[][] families, byte[][] splits, Configuration configuration)
      throws IOException {
    return createTable(table, families, splits, BloomType.NONE, HConstants.DEFAULT_BLOCKSIZE, configuration);
  }

  public Table createTable(TableDescriptor table, byte[][] families, Configuration configuration) throws IOException {
    return createTable(table, families, null, configuration);
  }

  public Table createTable(TableName name, byte[]... families) throws IOException {
    return createTable(name, families, 1);
  }

  public Table createTable(TableName name, byte[] family) throws IOException {
    return createTable(name, family, 1);
  }

  public Table createTable(TableName name, byte[] family, int versions) throws IOException {
    return createTable(name, new byte[][] { family }, versions);
  }

  public Table createTable(TableName name, byte[][] families, int versions) throws IOException {
    return createTable(name, families, versions, (byte[][]) null);
  }

  public Table createTable(TableName name, byte[] family, byte[][] splits) throws IOException {
    return createTable(name, new byte[][] { family }, splits);
  }

  public Table createTable(TableName name, byte[][] families, byte[][] splits) throws IOException {
    return createTable(name, families, 1, splits);
  }

  public Table createTable(TableName name, byte[][] families, int versions, byte[][] splits) throws IOException {
    int[] each = new int[families.length];
    Arrays.fill(each, versions);
    return createTable(name, families, each, HConstants.DEFAULT_BLOCKSIZE, null, splits);
  }

  public Table createTable(TableName name, byte[][] families, int[] versions) throws IOException {
    return createTable(name, families, versions, HConstants.DEFAULT_BLOCKSIZE, null, null);
  }

  public Table createTable(TableName name, byte[][] families, int versions, byte[] from, byte[] to, int regions)
      throws IOException {
    return createTable(name, families, versions, splitsBetween(from, to, regions));
  }

  public Table createTable(TableName name, byte[][] families, int versions, int blockSize) throws IOException {
    return createTable(name, families, versions, blockSize, null);
  }

  public Table createTable(TableName name, byte[][] families, int versions, int blockSize, String coprocessor)
      throws IOException {
    int[] each = new int[families.length];
    Arrays.fill(each, versions);
    return createTable(name, families, each, blockSize, coprocessor, null);
  }

  private Table createTable(TableName name, byte[][] families, int[] versions, int blockSize, String coprocessor,
      byte[][] splits) throws IOException {
    TableDescriptorBuilder builder = TableDescriptorBuilder.newBuilder(name);
    for (int i = 0; i < families.length; i++) {
      builder.setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(families[i]).setMaxVersions(versions[i])
          .setBlocksize(blockSize).build());
    }
    if (coprocessor != null) builder.setCoprocessor(coprocessor);
    return createTable(builder.build(), splits);
  }

  public Table createMultiRegionTable(TableName name, byte[] family) throws IOException {
    return createTable(name, family, KEYS_FOR_HBA_CREATE_TABLE);
  }

  public Table createMultiRegionTable(TableName name, byte[][] families, int versions) throws IOException {
    return createTable(name, families, versions, KEYS_FOR_HBA_CREATE_TABLE);
  }

  public Table createMultiRegionTable(TableName name, byte[] family, int regions) throws IOException {
    return createTable(name, family, splitsBetween(Bytes.toBytes("aaaaa"), Bytes.toBytes("zzzzz"), regions));
  }

  private static byte[][] splitsBetween(byte[] from, byte[] to, int regions) {
    if (regions < 3) throw new IllegalArgumentException("At least 3 regions, not " + regions);
    return Bytes.split(from, to, regions - 3);
  }

  public HTableDescriptor createTableDescriptor(TableName name) {
    HTableDescriptor table = new HTableDescriptor(name);
    for (byte[] family : new byte[][] { fam1, fam2, fam3 }) {
      HColumnDescriptor column = new HColumnDescriptor(family);
      column.setMaxVersions(VERSIONS_OF_DESCRIPTORS);
      column.setBlockCacheEnabled(false);
      table.addFamily(column);
    }
    return table;
  }

  public void deleteTable(TableName name) throws IOException {
    if (getAdmin().isTableEnabled(name)) getAdmin().disableTable(name);
    getAdmin().deleteTable(name);
  }

  public void deleteTableIfAny(TableName name) throws IOException {
    if (getAdmin().tableExists(name)) deleteTable(name);
  }

  /** Tables are there when they are made. */
  public void waitTableAvailable(TableName name) throws IOException {
    waitTableAvailable(name, 0);
  }

  public void waitTableAvailable(byte[] name, long patience) throws IOException {
    waitTableAvailable(TableName.valueOf(name), patience);
  }

  public void waitTableAvailable(TableName name, long patience) throws IOException {
    if (!getAdmin().isTableAvailable(name)) throw new IOException(name + " is not available");
  }

  public void waitUntilAllRegionsAssigned(TableName name) throws IOException {
    waitTableAvailable(name, 0);
  }

  public int loadTable(Table table, byte[] family) throws IOException {
    return loadTable(table, family, true);
  }

  public int loadTable(Table table, byte[] family, boolean logged) throws IOException {
    List<Put> puts = new ArrayList<>();
    for (byte[] row : ROWS) {
      Put put = new Put(row).addColumn(family, family, row);
      puts.add(put.setDurability(logged ? Durability.USE_DEFAULT : Durability.SKIP_WAL));
    }
    table.put(puts);
    return puts.size();
  }

  public void loadRandomRows(Table table, byte[] family, int rowSize, int rows) throws IOException {
    Random random = new Random(1);
    for (int i = 0; i < rows; i++) {
      byte[] row = new byte[rowSize];
      random.nextBytes(row);
      table.put(new Put(row).addColumn(family, new byte[] { 0 }, new byte[] { 0 }));
    }
  }

  public int countRows(Table table) throws IOException {
    return countRows(table, new Scan());
  }

  public int countRows(Table table, byte[]... families) throws IOException {
    Scan scan = new Scan();
    for (byte[] family : families) scan.addFamily(family);
    return countRows(table, scan);
  }

  public int countRows(Table table, Scan scan) throws IOException {
    int rows = 0;
    try (ResultScanner scanner = table.getScanner(scan)) {
      for (Result result : scanner) if (!result.isEmpty()) rows++;
    }
    return rows;
  }
}
