/** Which codecs an opening loads: those of its families and files, and no others. */

import { expect, test, vi } from 'vitest';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import { Get, Put, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';

/** As a new process would: no codec is loaded yet. */
async function freshModules() {
  vi.resetModules();
  const { openEmbedded } = await import('../../../src/store/engine.js');
  const { preparedCodec } = await import('../../../src/compression/index.js');
  return { openEmbedded, preparedCodec };
}

const options = (fileSystem: MemoryFileSystem): EmbeddedOptions => ({ fileSystem, automatic: false });

test('a store that compresses nothing loads no codec', async () => {
  const { openEmbedded, preparedCodec } = await freshModules();
  const engine = await openEmbedded('/db', options(new MemoryFileSystem()));
  await engine.admin.createTable(tableDescriptor('t', { d: {} }));
  for (const name of ['SNAPPY', 'LZ4', 'ZSTD', 'GZ'] as const)
    expect(() => preparedCodec(name)).toThrow(/not loaded/);
  await engine.close();
});

test('the codec of a file is loaded after its family was given another, for reads and for compactions', async () => {
  const files = new MemoryFileSystem();
  const first = await (await freshModules()).openEmbedded('/db', options(files));
  await first.admin.createTable(tableDescriptor('t', { d: { compression: 'SNAPPY' } }));
  const value = 'snappy '.repeat(500);
  await first.table('t').put(new Put('r').addColumn('d', 'q', value));
  await first.admin.flush('t');
  await first.admin.modifyTable(tableDescriptor('t', { d: { compression: 'GZ' } }));
  await first.close();

  const { openEmbedded, preparedCodec } = await freshModules();
  const second = await openEmbedded('/db', options(files));
  expect(preparedCodec('SNAPPY')?.name).toBe('SNAPPY');
  expect(preparedCodec('GZ')?.name).toBe('GZ');
  expect(() => preparedCodec('LZ4')).toThrow(/not loaded/);
  const read = async (): Promise<string> =>
    Buffer.from((await second.table('t').get(new Get('r'))).getValue('d', 'q')!).toString();
  expect(await read()).toBe(value);
  await second.admin.majorCompact('t');
  expect(await read()).toBe(value);
  await second.close();
});

test('a store with a file whose codec is not installed is refused, with what to install, and stays as it is', async () => {
  const files = new MemoryFileSystem();
  const first = await (await freshModules()).openEmbedded('/db', options(files));
  await first.admin.createTable(tableDescriptor('t', { d: { compression: 'SNAPPY' } }));
  await first.table('t').put(new Put('r').addColumn('d', 'q', 'v'.repeat(5000)));
  await first.admin.flush('t');
  await first.admin.modifyTable(tableDescriptor('t', { d: {} }));
  await first.close();
  const names = files.readdir('/db').sort();
  vi.doMock('snappy', () => {
    throw new Error('Cannot find package');
  });
  try {
    const { openEmbedded } = await freshModules();
    await expect(openEmbedded('/db', options(files))).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED',
      details: { codec: 'SNAPPY', package: 'snappy' },
    });
    expect(files.readdir('/db').sort()).toEqual(names);
  } finally {
    vi.doUnmock('snappy');
  }
});
