import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Column, Entity, rowKey, Table } from '../../decorators/index.js';
import { bytes } from '../../src/codec/index.js';
import { type Database, open } from '../../src/database.js';
import { part } from '../../src/key/index.js';
import { type Compression, Put, type TableDescriptor, tableDescriptor } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';

const MIB = 1 << 20;

@Table({
  name: 'objects',
  families: { none: {}, packed: { compression: scaled('SNAPPY', 'ZSTD', 'GZ') as Compression } },
})
class Objects {}

@Entity({ table: Objects })
class StoredObject {
  static readonly key = rowKey(part('id'));
  id!: string;
  @Column('none:b', bytes) plain?: Uint8Array;
  @Column('packed:b', bytes) packed?: Uint8Array;
}

let path: string;
beforeAll(async () => {
  path = await mkdtemp(join(tmpdir(), 'rowan-cells-'));
});
afterAll(() => rm(path, { recursive: true, force: true }));

const opened = (maxCellSize?: number): Promise<Database> =>
  open({
    path,
    entities: [StoredObject],
    background: 'inline',
    durability: 'ASYNC_WAL',
    flushOnClose: false,
    ...(maxCellSize !== undefined && { maxCellSize }),
  });

/** Bytes that do not repeat. */
function contents(length: number): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let i = 0, word = 1; i < words.length; i++) words[i] = word = (word * 1664525 + 1013904223) >>> 0;
  return new Uint8Array(words.buffer, 0, length);
}

describe('the largest cell', () => {
  it('is 10 MiB unless another size is given, key and value together', async () => {
    await using db = await opened();
    const objects = db.repository(StoredObject);
    const fits = 10 * MIB - 'large'.length - 'b'.length;
    await expect(objects.put({ id: 'large', plain: new Uint8Array(fits + 1) })).rejects.toThrow(
      /^A cell of table "objects", row large, family "none", has 10485761 bytes; the limit is 10485760\. Open the store with a larger maxCellSize/,
    );
    expect(await objects.get({ id: 'large' })).toBeNull();
    await objects.put({ id: 'large', plain: new Uint8Array(fits) });
    expect((await objects.get({ id: 'large' }))?.plain).toHaveLength(fits);
    await objects.delete({ id: 'large' });
  });

  it('may be 256 MiB: in memory, from the log, from files, and merged', async () => {
    const length = scaled(2, 50, 200) * MIB;
    const value = contents(length);
    const stored = async (db: Database): Promise<void> => {
      const found = await db.repository(StoredObject).get({ id: 'o' });
      for (const read of [found?.plain, found?.packed]) {
        expect(read).toHaveLength(length);
        expect(Buffer.compare(read!, value)).toBe(0);
      }
    };
    {
      await using db = await opened(256 * MIB);
      await db.repository(StoredObject).put({ id: 'o', plain: value, packed: value });
      await stored(db);
    }
    // What is stored is read whatever may be written.
    await using db = await opened();
    await stored(db);
    await db.admin.flush('objects');
    await stored(db);
    await db.repository(StoredObject).put({ id: 'p', plain: Uint8Array.of(1), packed: Uint8Array.of(1) });
    await db.admin.flush('objects');
    await db.admin.majorCompact('objects');
    await stored(db);
  });

  it('is that of the configuration of a table', async () => {
    await using db = await opened();
    const own = (limit: string): TableDescriptor =>
      tableDescriptor('own', { f: {} }, { configuration: { 'hbase.server.keyvalue.maxsize': limit } });
    const put = (length: number): Promise<void> =>
      db.engine.table('own').put(new Put('r').addColumn('f', 'q', new Uint8Array(length)));
    await db.admin.createTable(own('1000'));
    await put(998);
    await expect(put(999)).rejects.toThrow(/1001 bytes; the limit is 1000\..*keyvalue\.maxsize/);
    await db.admin.modifyTable(own('0'));
    await put(11 * MIB);
  });

  it('is an option that is checked', async () => {
    await expect(opened(0)).rejects.toThrow(/maxCellSize.* an integer from 1 to 268435456/);
    await expect(opened(257 * MIB)).rejects.toThrow(/maxCellSize/);
  });
});
