/** HBase's Java clients on a served store, found by each kind of registry. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import { encodeToken, secretAuthenticator, secretToken } from '../../src/hbase/security/delegation-token.js';
import { Put, tableDescriptor } from '../../src/table/index.js';
import type { ClassPathName } from '../hbase/server/class-path.js';
import { PROJECT_ROOT } from '../hbase/server/layout.js';
import { runJava } from '../hbase/server/tool.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { type Registry, ServedStore } from './served-store.js';

const CLIENT = `
import java.util.*;
import org.apache.hadoop.hbase.*;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.filter.*;
import org.apache.hadoop.hbase.util.Bytes;

public class Client {
  static final byte[] F = Bytes.toBytes("f");
  static final byte[] Q = Bytes.toBytes("q");
  static final byte[] N = Bytes.toBytes("n");

  static void check(String what, Object expected, Object found) {
    if (!Objects.equals(expected, found)) throw new AssertionError(what + ": " + found + ", not " + expected);
  }

  static int count(Table table, Scan scan) throws Exception {
    int rows = 0;
    try (ResultScanner scanner = table.getScanner(scan)) {
      for (Result ignored : scanner) rows++;
    }
    return rows;
  }

  public static void main(String[] args) throws Exception {
    TableName name = TableName.valueOf("java");
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
        Admin admin = connection.getAdmin(); Table table = connection.getTable(name)) {
      TableDescriptor descriptor = TableDescriptorBuilder.newBuilder(name)
          .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(F).setMaxVersions(3).build()).build();
      admin.createTable(descriptor, new byte[][] { Bytes.toBytes("row300"), Bytes.toBytes("row600") });
      check("families", 1, admin.getDescriptor(name).getColumnFamilyCount());
      List<Put> puts = new ArrayList<>();
      for (int i = 0; i < 1000; i++) {
        puts.add(new Put(Bytes.toBytes(String.format("row%03d", i))).addColumn(F, Q, Bytes.toBytes("v" + i)));
      }
      table.put(puts);
      check("get", "v7", Bytes.toString(table.get(new Get(Bytes.toBytes("row007"))).getValue(F, Q)));
      check("exists", false, table.exists(new Get(Bytes.toBytes("none"))));
      check("scan", 1000, count(table, new Scan()));
      check("small pages", 1000, count(table, new Scan().setCaching(7)));
      check("reversed", 500, count(table, new Scan().setReversed(true).withStartRow(Bytes.toBytes("row499"))));
      check("limit", 650, count(table, new Scan().setLimit(650)));
      check("filter", 10, count(table, new Scan().setFilter(new PrefixFilter(Bytes.toBytes("row12")))));
      check("while", 450, count(table,
          new Scan().setFilter(new WhileMatchFilter(new RowFilter(CompareOperator.LESS, new BinaryComparator(Bytes.toBytes("row450")))))));
      List<Get> gets = new ArrayList<>();
      for (int i = 0; i < 100; i++) gets.add(new Get(Bytes.toBytes(String.format("row%03d", i * 10))));
      Result[] results = table.get(gets);
      check("gets", "v990", Bytes.toString(results[99].getValue(F, Q)));
      byte[] row = Bytes.toBytes("row500");
      check("increment", 5L, table.incrementColumnValue(row, F, N, 5L));
      check("increment again", 12L, table.incrementColumnValue(row, F, N, 7L));
      check("append", "v500!",
          Bytes.toString(table.append(new Append(row).addColumn(F, Q, Bytes.toBytes("!"))).getValue(F, Q)));
      check("check", true, table.checkAndMutate(CheckAndMutate.newBuilder(row).ifEquals(F, Q, Bytes.toBytes("v500!"))
          .build(new Put(row).addColumn(F, Q, Bytes.toBytes("w")))).isSuccess());
      check("check fails", false, table.checkAndMutate(CheckAndMutate.newBuilder(row).ifNotExists(F, Q)
          .build(new Put(row).addColumn(F, Q, Bytes.toBytes("x")))).isSuccess());
      List<Mutation> together = List.of(
          new Put(row).addColumn(F, Bytes.toBytes("p"), Q), new Delete(row).addColumns(F, Q));
      table.mutateRow(RowMutations.of(together));
      check("together", null, table.get(new Get(row)).getValue(F, Q));
      Object[] outcomes = new Object[2];
      table.batch(Arrays.asList(new Get(row), new Delete(Bytes.toBytes("row001"))), outcomes);
      check("batch", 2, ((Result) outcomes[0]).size());
      check("deleted", 999, count(table, new Scan()));
      try {
        table.put(new Put(row).addColumn(Bytes.toBytes("g"), Q, Q));
        throw new AssertionError("a family that is not there was written");
      } catch (org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException expected) {
        // As it should be.
      } catch (RetriesExhaustedWithDetailsException expected) {
        check("cause", true, expected.getCause(0) instanceof org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException);
      }
      admin.flush(name);
      admin.split(name, Bytes.toBytes("row450"));
      for (int i = 0; i < 100 && admin.getRegions(name).size() < 4; i++) Thread.sleep(50);
      check("regions", 4, admin.getRegions(name).size());
      check("after the split", 999, count(table, new Scan()));
      admin.snapshot("snap", name);
      admin.disableTable(name);
      try {
        table.get(new Get(row));
        throw new AssertionError("a disabled table was read");
      } catch (TableNotEnabledException expected) {
        // As it should be.
      }
      admin.deleteTable(name);
      admin.cloneSnapshot("snap", name);
      check("cloned", 999, count(table, new Scan()));
      admin.deleteSnapshot("snap");
      check("servers", 1, admin.getClusterMetrics().getLiveServerMetrics().size());
      admin.disableTable(name);
      admin.deleteTable(name);
      check("gone", false, admin.tableExists(name));
    }
    System.out.println("everything held");
  }
}
`;

/** Reads and writes with the token that it is given. */
const LOGIN = `
import java.security.PrivilegedExceptionAction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.*;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.security.provider.SaslClientAuthenticationProviders;
import org.apache.hadoop.hbase.security.token.AuthenticationTokenIdentifier;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;

public class Login {
  public static void main(String[] args) throws Exception {
    // Hadoop asks for a realm as soon as security is on. No ticket is used.
    System.setProperty("java.security.krb5.realm", "NONE");
    System.setProperty("java.security.krb5.kdc", "localhost");
    Configuration conf = HBaseConfiguration.create();
    conf.set("hadoop.security.authentication", "kerberos");
    conf.set("hbase.security.authentication", "kerberos");
    conf.set("hbase.client.retries.number", "1");
    // HBase 2.6 sets up what it authenticates with for its first request, which asks for the cluster's id and needs no login.
    SaslClientAuthenticationProviders.getInstance(conf);
    UserGroupInformation.setConfiguration(conf);
    UserGroupInformation user = UserGroupInformation.createRemoteUser("java");
    Token<AuthenticationTokenIdentifier> token = new Token<>();
    token.decodeFromUrlString(args[0]);
    System.out.println("of " + token.decodeIdentifier().getUser().getUserName() + ", " + token);
    user.addToken(token);
    // The registry of connections logs in as the current user.
    user.doAs((PrivilegedExceptionAction<Void>) () -> use(conf));
  }

  static Void use(Configuration conf) throws Exception {
    byte[] f = Bytes.toBytes("f");
    try (Connection connection = ConnectionFactory.createConnection(conf);
        Table orders = connection.getTable(TableName.valueOf("orders"))) {
      Result found = orders.get(new Get(Bytes.toBytes("r")));
      System.out.println("read " + Bytes.toString(found.getValue(f, f)));
      try {
        orders.put(new Put(Bytes.toBytes("java")).addColumn(f, f, f));
        System.out.println("written");
      } catch (Exception refused) {
        System.out.println("refused " + refused);
      }
    } catch (Exception failed) {
      for (Throwable t = failed; t != null; t = t.getCause()) System.out.println("failed " + t.getClass() + " " + String.valueOf(t.getMessage()).split("\\n")[0]);
    }
    return null;
  }
}
`;

describe('a served store with users under the Java client', () => {
  const secrets = { owner: 'owner-secret-0123456789', java: 'java-secret-0123456789' };

  it('lets in who shows his secret as a token, to do what he may', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rowan-users-'));
    const users = join(folder, 'users.json');
    const permissions = {
      owner: { secret: secrets.owner, admin: true },
      java: { secret: secrets.java, read: ['orders'] },
    };
    writeFileSync(users, JSON.stringify(permissions), { mode: 0o600 });
    const store = await ServedStore.start(['--users', users]);
    try {
      const owner = await connectHBase({
        masters: [store.endpoint],
        authenticator: secretAuthenticator('owner', secrets.owner),
      });
      await owner.admin.createTable(tableDescriptor('orders', { f: {} }));
      await owner.table('orders').put(new Put('r').addColumn('f', 'f', 'ten'));
      const { clusterId } = owner;
      await owner.close();
      const layout = await store.layout('bootstrap');
      const login = (secret: string): Promise<string> =>
        runJava(layout, { Login: LOGIN }, 'Login', [encodeToken(secretToken('java', secret, clusterId))]);
      const output = await login(secrets.java);
      expect(output).toMatch(/^of java, Kind: HBASE_AUTH_TOKEN/m);
      expect(output).toMatch(/^read ten$/m);
      expect(output).toMatch(/^refused .*AccessDeniedException/m);
      expect(await login(secrets.owner)).toMatch(/^failed /m);
    } finally {
      await store.stop();
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a served store under the Java client', () => {
  let store: ServedStore;
  beforeAll(async () => {
    store = await ServedStore.start();
  });
  afterAll(() => store.stop());

  it.each<Registry>(['bootstrap', 'masters', 'zookeeper'])(
    'found by %s: tables, rows, scans, snapshots',
    async (registry) => {
      expect(await runJava(await store.layout(registry), { Client: CLIENT }, 'Client')).toContain(
        'everything held',
      );
    },
  );

  it.each<[string, ClassPathName, Registry]>([
    ['2.4', 'server-2.4', 'masters'],
    ['2.5', 'server-2.5', 'bootstrap'],
    ['3.0', 'client-3.0', 'bootstrap'],
  ])('by clients of HBase %s', async (_, version, registry) => {
    const layout = await store.layout(registry);
    expect(await runJava(layout, { Client: CLIENT }, 'Client', [], version)).toContain('everything held');
  });

  it('runs the program of docs/testing-servers.md', async () => {
    const page = readFileSync(join(PROJECT_ROOT, 'docs/testing-servers.md'), 'utf8');
    const program = /^```java\n([\s\S]*?)^```$/m.exec(page)![1]!;
    process.env['HBASE'] = `localhost:${store.port}`;
    const output = await runJava(await store.layout('bootstrap'), { Customers: program }, 'Customers');
    expect(output).toMatch(/^Ada$/m);
  });

  it('gives the recorded answers of HBase 2.6.4', async () => {
    const program = readFileSync(join(PROJECT_ROOT, 'test/hbase-served/java/ReplayVectors.java'), 'utf8');
    const recorded = join(PROJECT_ROOT, 'test/conformance/vectors/hbase-2.6.4.ndjson.gz');
    const args = [recorded, String(scaled(10, 3, 1))];
    const output = await runJava(
      await store.layout('bootstrap'),
      { ReplayVectors: program },
      'ReplayVectors',
      args,
    );
    expect(output.split('\n').filter((line) => line.startsWith('DIFFERENCE'))).toEqual([]);
    const [, sequences, answers] = /^REPLAYED (\d+) (\d+)$/m.exec(output)!;
    expect(Number(answers)).toBeGreaterThan(1000);
    record('served-java', { 'recorded sequences': Number(sequences), 'answers compared': Number(answers) });
  });
});
