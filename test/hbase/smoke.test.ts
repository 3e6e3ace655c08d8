import { expect, it } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import { connectShared, sharedHBase } from './connect.js';
import { describeTable } from './smoke.js';

describeTable('an HBase table', () => connectShared());
for (const cellBlockCompression of ['gzip', 'deflate'] as const) {
  describeTable(`an HBase table, cells by ${cellBlockCompression}`, () =>
    connectShared({ cellBlockCompression }),
  );
}

it('a cluster is found by ZooKeeper too', async () => {
  const byMasters = await connectShared();
  const byZooKeeper = await connectHBase({ zookeeper: { quorum: [sharedHBase().zooKeeper] } });
  try {
    expect(byZooKeeper.clusterId).toBe((byMasters as typeof byZooKeeper).clusterId);
    expect(await byZooKeeper.admin.tableExists('hbase:meta')).toBe(true);
  } finally {
    await byZooKeeper.close();
    await byMasters.close();
  }
});
