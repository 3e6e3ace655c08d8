/** The folders that tools write into: what they refuse, and what the system refuses. */

import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { csvFiles, ndjsonFiles, parquetFiles } from '../../../src/job/index.js';
import type { SplitContext } from '../../../src/job/types.js';
import { backupTables } from '../../../src/tools/backup.js';
import { exportTable } from '../../../src/tools/export.js';
import { hashTable } from '../../../src/tools/hash.js';
import { fill } from './random-table.js';
import { SMALL, stageOfEachTest } from './support.js';

const stage = stageOfEachTest();

const WRITERS: Readonly<Record<string, (folder: string) => Promise<unknown>>> = {
  export: (folder) => exportTable(stage.engine, 't', folder, { run: SMALL }),
  'export of sequence files': (folder) =>
    exportTable(stage.engine, 't', folder, { format: 'hbase', run: SMALL }),
  hash: (folder) => hashTable(stage.engine, 't', folder, { run: SMALL }),
  backup: (folder) => backupTables(stage.engine, folder, { tables: ['t'] }),
};

test.each(Object.keys(WRITERS))(
  '%s refuses a folder with other files, and takes a new disk',
  async (tool) => {
    await fill(stage.engine, []);
    const write = WRITERS[tool]!;
    const used = join(stage.folder, 'used');
    await mkdir(used);
    await writeFile(join(used, 'notes.txt'), 'mine');
    await expect(write(used)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message: expect.stringMatching(/used .*"notes\.txt".* Give an empty or a new folder/) as string,
    });
    expect(await readdir(used)).toEqual(['notes.txt']);
    expect(await readFile(join(used, 'notes.txt'), 'utf8')).toBe('mine');
    const disk = join(stage.folder, 'disk');
    await mkdir(join(disk, 'lost+found'), { recursive: true });
    await write(disk);
    const first = (await readdir(disk)).sort();
    expect(first).toContain('lost+found');
    // A folder of its own is written again.
    await write(disk);
    expect(await readdir(disk)).toEqual(expect.arrayContaining(first));
  },
);

test.each(['export', 'export of sequence files', 'hash'] as const)(
  '%s leaves no files of a larger one',
  async (tool) => {
    const parts = async (): Promise<string[]> =>
      (await readdir(stage.folder)).filter((name) => name.startsWith('part-'));
    await fill(stage.engine, []);
    await WRITERS[tool]!(stage.folder);
    const before = await parts();
    await stage.engine.admin.disableTable('t');
    await stage.engine.admin.deleteTable('t');
    await fill(stage.engine, [], []);
    await WRITERS[tool]!(stage.folder);
    expect([before.length, (await parts()).length]).toEqual([3, 1]);
  },
);

test('an export refuses a folder with an export of another format', async () => {
  await fill(stage.engine, []);
  await WRITERS['export']!(stage.folder);
  await expect(WRITERS['export of sequence files']!(stage.folder)).rejects.toThrow(
    /"export\.json", which is no file/,
  );
});

const SINKS = {
  ndjson: ndjsonFiles,
  csv: (folder: string) => csvFiles(folder, { columns: ['id'] }),
  parquet: (folder: string) => parquetFiles(folder, { id: 'text' }),
};

test.each(Object.keys(SINKS) as (keyof typeof SINKS)[])(
  'a sink of %s files says on a full disk which file it is, and what to do',
  async (format) => {
    const path = join(stage.folder, `part-00003.${format}`);
    // Writes to it fail with ENOSPC.
    await symlink('/dev/full', path);
    const context = { job: 'j', run: 0, split: 3, resumed: undefined } as SplitContext;
    const written = async (): Promise<void> => {
      const writer = await SINKS[format](stage.folder).open(context);
      try {
        await writer.write([{ id: 'x' }]);
        await writer.commit?.();
      } finally {
        await writer.close?.();
      }
    };
    await expect(written()).rejects.toMatchObject({
      code: 'ERR_IO',
      retryable: true,
      message: `Could not write "${path}" (ENOSPC). The disk is full: free some space and try again.`,
      details: { file: path, errno: 'ENOSPC' },
    });
  },
);

test('an export says which file the system refuses', async () => {
  await fill(stage.engine, []);
  const path = join(stage.folder, 'part-00000.cells');
  await mkdir(path);
  await expect(WRITERS['export']!(stage.folder)).rejects.toMatchObject({
    code: 'ERR_IO',
    details: { file: path, errno: 'EISDIR' },
  });
});
