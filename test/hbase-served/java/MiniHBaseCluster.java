package org.apache.hadoop.hbase;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.client.RegionInfo;

/**
 * The cluster that HBaseTestingUtility beside this file has not started. A test that asks for a region server or a master
 * as an object fails with NoSuchMethodError: there is none in its process.
 */
public class MiniHBaseCluster {
  private final HBaseTestingUtility utility;

  MiniHBaseCluster(HBaseTestingUtility utility) {
    this.utility = utility;
  }

  public Configuration getConfiguration() {
    return utility.getConfiguration();
  }

  public boolean waitForActiveAndReadyMaster() {
    return true;
  }

  public ServerName getServerHoldingRegion(TableName name, byte[] region) throws IOException {
    for (RegionInfo known : utility.getAdmin().getRegions(name)) {
      if (java.util.Arrays.equals(known.getRegionName(), region)) {
        return utility.getConnection().getRegionLocator(name).getRegionLocation(known.getStartKey()).getServerName();
      }
    }
    return null;
  }

  public void flushcache() throws IOException {
    utility.flush();
  }

  public void flushcache(TableName name) throws IOException {
    utility.flush(name);
  }

  public void compact(TableName name, boolean major) throws IOException {
    if (major) utility.getAdmin().majorCompact(name);
    else utility.getAdmin().compact(name);
  }
}
