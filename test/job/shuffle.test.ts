import { expect, test } from 'vitest';
import { decodeJobKey } from '../../src/job/pipeline/ordered-key.js';
import { GroupReader, ShuffleWriter, shuffleTableDescriptor } from '../../src/job/pipeline/shuffle.js';
import { Scan } from '../../src/table/index.js';
import { memoryStore } from '../store/engine/support.js';

test('reducers read what was committed, and nothing that an attempt wrote behind its last commit', async () => {
  const { engine } = await memoryStore();
  const descriptor = shuffleTableDescriptor('words', 0);
  await engine.admin.createTable(descriptor);
  const table = engine.table(descriptor.name);
  const first = new ShuffleWriter(table, 3, 1, undefined, 16, undefined);
  first.emit('oak', 'committed');
  const kept = await first.commit();
  first.emit('oak', 'lost with its worker');
  await first.commit();
  const second = new ShuffleWriter(table, 3, 2, kept, 16, undefined);
  second.emit('oak', 'tried again');
  const work = await second.commit();

  const rows = [];
  for await (const row of table.scan(new Scan())) rows.push(row);
  expect(rows).toHaveLength(3);
  const reader = new GroupReader(new Map([[3, work]]));
  const groups = [...reader.take(rows), ...reader.finish()];
  expect(groups.map(({ key, values }) => [decodeJobKey(key), values])).toEqual([
    ['oak', ['committed', 'tried again']],
  ]);
  await engine.close();
});
