/** A store on the real disk whose folder, or working directory, changes under it. */

import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import { NodeFileSystem } from '../../../src/store/fs/index.js';
import { openReadOnly } from '../../../src/store/read-only/read-only-store.js';
import { scaled } from '../../proof/scale.js';
import { contents, createTable, put, withFolder } from '../engine/support.js';

const OPTIONS = { background: 'inline', automatic: false } as const;

test('a folder that is renamed while it is open stays the store it is, and another takes its name', () =>
  withFolder(async (folder) => {
    const [path, moved] = [join(folder, 'db'), join(folder, 'moved')];
    const first = await openEmbedded(path, OPTIONS);
    const one = await createTable(first);
    await one.put(put('a', 'first'));
    renameSync(path, moved);
    const second = await openEmbedded(path, OPTIONS);
    const two = await createTable(second);
    await Promise.all([one.put(put('b', 'first')), two.put(put('a', 'second'))]);
    await Promise.all([first.admin.flush('t'), second.admin.flush('t')]);
    await Promise.all([first.admin.majorCompact('t'), two.put(put('c', 'second'))]);
    await first.checkpoint(join(folder, 'copy'));
    await first.close();
    await second.close();
    const read = async (at: string): Promise<string[]> => {
      await using engine = await openEmbedded(at, { ...OPTIONS, createIfMissing: false });
      await engine.verify();
      return await contents(engine.table('t'));
    };
    expect(await read(moved)).toEqual(['a f:q=first', 'b f:q=first']);
    expect(await read(join(folder, 'copy'))).toEqual(['a f:q=first', 'b f:q=first']);
    expect(await read(path)).toEqual(['a f:q=second', 'c f:q=second']);
    expect(readdirSync(moved).filter((name) => name.endsWith('.sock'))).toEqual([]);
  }));

test('where no path begins at a descriptor, a renamed folder is refused', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'db');
    mkdirSync(path);
    const { held } = new NodeFileSystem().hold(path);
    const files = new NodeFileSystem({ ...held!, byDescriptor: false });
    files.create(join(path, 'x')).close();
    renameSync(path, join(folder, 'moved'));
    mkdirSync(path);
    expect(() => files.create(join(path, 'y'))).toThrow(expect.objectContaining({ code: 'ERR_IO' }));
    expect(readdirSync(path)).toEqual([]);
    files.letGo();
  }));

test('a relative path is that of the moment of opening', () =>
  withFolder(async (folder) => {
    const before = process.cwd();
    try {
      process.chdir(folder);
      const engine = await openEmbedded('db', OPTIONS);
      const table = await createTable(engine);
      mkdirSync('elsewhere');
      process.chdir('elsewhere');
      await table.put(put('a', '1'));
      await engine.admin.flush('t');
      await engine.checkpoint('../copy');
      await engine.close();
    } finally {
      process.chdir(before);
    }
    await using engine = await openEmbedded(join(folder, 'db'), { ...OPTIONS, createIfMissing: false });
    expect(await contents(engine.table('t'))).toEqual(['a f:q=1']);
  }));

test('a look beside the opener sees every write and changes nothing', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'db');
    await using engine = await openEmbedded(path, {
      background: 'inline',
      memstoreFlushSize: 20_000,
      walSegmentSize: 8000,
    });
    const table = await createTable(engine);
    const count = scaled(100, 200, 200);
    const writing = (async () => {
      for (let i = 0; i < count; i++) await table.put(put(`r${i}`, 'v'.repeat(400)));
    })();
    let looks = 0;
    let done = false;
    void writing.then(() => (done = true));
    while (!done) {
      const view = await openReadOnly(path);
      expect(view.stats().tables.length).toBe(1);
      await view.verify();
      await view.close();
      looks++;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writing;
    await engine.quiet();
    const view = await openReadOnly(path);
    const [family] = view.stats().tables[0]!.regions[0]!.families;
    await view.close();
    expect(family!.cells + family!.memstoreCells).toBe(count);
    expect(looks).toBeGreaterThan(0);
  }));
