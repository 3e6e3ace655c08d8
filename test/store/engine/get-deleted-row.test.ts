import { expect, it } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import { Delete, Get, Put, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';

it('finds nothing in one column of a row whose family was deleted', async () => {
  const engine = await openEmbedded('/db', { fileSystem: new MemoryFileSystem() });
  await engine.admin.createTable(tableDescriptor('t', { d: {} }));
  const table = engine.table('t');
  await table.put(new Put('r', 100).addColumn('d', 'a', 'x').addColumn('d', 'b', 'y'));
  await table.delete(new Delete('r', 200));
  for (const get of [
    new Get('r').addColumn('d', 'a'),
    new Get('r').addColumn('d', 'b'),
    new Get('r').addColumn('d', 'a').readVersions(5),
    new Get('r').addColumn('d', 'a').addColumn('d', 'b'),
  ]) {
    expect((await table.get(get)).cells).toEqual([]);
    expect(await table.exists(get)).toBe(false);
  }
  await engine.close();
});
