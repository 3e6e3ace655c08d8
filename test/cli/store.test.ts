import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openEmbedded } from '../../src/store/engine.js';
import { Delete, Put, tableDescriptor } from '../../src/table/index.js';
import { run } from './run.js';

let folder: string;

beforeEach(async () => {
  folder = join(mkdtempSync(join(tmpdir(), 'rowan-')), 'db');
  await using engine = await openEmbedded(folder, {
    background: 'inline',
    clock: () => 1000,
    flushOnClose: false,
  });
  await engine.admin.createTable(tableDescriptor('t', { f: {}, g: { compression: 'GZ' } }));
  const table = engine.table('t');
  await table.put(
    new Put('in a file').addColumn('f', 'q', 'v'.repeat(100)).addColumn('g', Uint8Array.of(0), 'w'),
  );
  await engine.admin.flush('t');
  await table.put(new Put('in the log').addColumn('f', 'q', 'x').setTtl(1e14));
  await table.delete(new Delete('in a file').addColumns('g', Uint8Array.of(0)));
});

afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

function sortedFiles(): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.sst'));
}

describe('rowan store', () => {
  test('backup, backups and restore', async () => {
    const backups = join(folder, '..', 'backups');
    const restored = join(folder, '..', 'restored');
    expect((await run('store', 'backup', folder, backups)).out).toMatch(
      /^000001\t.*Z\t\d+ files\t\d+ bytes\t\d+ new\n$/,
    );
    const [second] = JSON.parse((await run('store', 'backup', folder, backups, '--json')).out) as {
      name: string;
    }[];
    expect(second).toMatchObject({ name: '000002' });
    expect((await run('store', 'backups', backups, '--verify')).out).toMatch(
      /^000001.*\n000002.*\nNo damage found: \d+ files/,
    );
    expect((await run('store', 'restore', backups, restored, '--to', '000001')).out).toMatch(/^000001/);
    expect((await run('cells', restored, 't', '--no-progress')).out).toMatch(/rows\s+2\n/);
    expect((await run('store', 'backups', backups, '--keep', '1')).out).toMatch(/^000002[^\n]*\n$/);
    for (const [args, message] of [
      [['restore', backups, restored], /exists already/],
      [['restore', backups, `${restored}2`, '--to', 'yesterday'], /--to takes the name of a backup/],
      [['restore', folder, `${restored}2`], /holds no backups of stores/],
      [['backups', backups, '--keep', 'all'], /1 or more, not NaN/],
    ] as const) {
      const { code, err } = await run('store', ...args);
      expect(code).not.toBe(0);
      expect(err).toMatch(message);
    }
  });

  test('stats, as a table and as JSON', async () => {
    const { code, out } = await run('store', 'stats', folder);
    expect(code).toBe(0);
    expect(out).toMatch(/│ t .*│ f /);
    const json = JSON.parse((await run('store', 'stats', '--json', folder)).out);
    expect(json.tables[0].regions[0].families).toMatchObject([
      { family: 'f', files: 1, cells: 1, memstoreCells: 1 },
      { family: 'g', files: 1, cells: 1, memstoreCells: 1 },
    ]);
  });

  test('stats --bytes adds up what rows cost, part by part', async () => {
    expect(JSON.parse((await run('store', 'stats', folder, '--bytes', '--json')).out)).toMatchObject([
      // "in a file" and "in the log", "q", 100 and 1 bytes.
      {
        table: 't',
        family: 'f',
        rows: 2,
        cells: 2,
        keys: 19,
        qualifiers: 2,
        times: 18,
        values: 101,
        inMemory: 1,
      },
      { table: 't', family: 'g', rows: 0, cells: 0, keys: 0, qualifiers: 0, times: 0, values: 0 },
    ]);
    expect((await run('store', 'stats', folder, '--bytes')).out).toContain('1 cells are in memory: flush');
    await run('store', 'compact', folder);
    const { out } = await run('store', 'stats', folder, '--bytes', 't');
    expect(out).toMatch(
      /^t f: 2 rows of 1\.0 cells; a row: keys 9\.5, qualifiers 1\.0, times 9\.0, values 50\.5, together 70\.0 bytes; \d+\.\d on the disk, \d+ % of that$/m,
    );
    expect(out).toContain('t g: 0 rows of - cells');
    expect((await run('store', 'stats', folder, '--bytes', 'u')).err).toContain('The store has no table "u"');
  });

  test('dump-wal prints the writes that are in the log', async () => {
    const { code, out } = await run('store', 'dump-wal', folder);
    expect(code).toBe(0);
    expect(out).toContain('t in the log f:q timestamp=1000 Put ttl=100000000000000 value=x');
    expect(out).toContain('t in a file g:\\x00 timestamp=1000 DeleteColumn value=');
  });

  test('dump-file prints facts and cells', async () => {
    const dumps = await Promise.all(
      sortedFiles().map((name) => run('store', 'dump-file', join(folder, name))),
    );
    const all = dumps.map((dump) => dump.out).join('');
    expect(all).toContain('compression: GZ');
    expect(all).toMatch(/in a file q timestamp=1000 Put seq=\d+ value=v{60}… \(100 bytes\)/);
    const facts = await run('store', 'dump-file', '--facts', join(folder, sortedFiles()[0]!));
    expect(facts.out).not.toContain('timestamp=');
    const refused = async (path: string): Promise<string> => {
      const { code, err } = await run('store', 'dump-file', path);
      expect(code).toBe(1);
      return err;
    };
    expect(await refused(folder)).toMatch(/is a folder, with \d+ sorted files?: \d+\.sst/);
    const other = join(folder, '..', 'notes.txt');
    writeFileSync(other, 'These are notes.');
    expect(await refused(other)).toContain('notes.txt is no sorted file: it does not end like one.');
    rmSync(other);
    expect(await refused(join(folder, '..', 'absent.sst'))).toContain('There is no such file or folder');
  });

  test('compact merges files and drops what is hidden', async () => {
    const { code, out } = await run('store', 'compact', folder);
    expect(code).toBe(0);
    expect(out).toContain('Compacted t:');
    const json = JSON.parse((await run('store', 'stats', '--json', folder)).out);
    expect(json.tables[0].regions[0].families).toMatchObject([{ cells: 2 }, { cells: 0 }]);
  });

  test('compact leaves no byte of a deleted value in the folder', async () => {
    const files = () =>
      readdirSync(folder).filter(
        (name) => /\d/.test(name) && readFileSync(join(folder, name)).includes('a deleted value'),
      );
    {
      await using engine = await openEmbedded(folder, { background: 'inline' });
      const table = engine.table('t');
      for (const row of ['in a file', 'in the log']) {
        await table.put(new Put(row).addColumn('f', 'deleted', `a deleted value ${row}`));
        if (row === 'in a file') await engine.admin.flush('t');
      }
      for (const row of ['in a file', 'in the log'])
        await table.delete(new Delete(row).addColumns('f', 'deleted'));
    }
    expect(files()).not.toEqual([]);
    expect(await run('store', 'compact', folder)).toMatchObject({ code: 0 });
    expect(files()).toEqual([]);
    expect((await run('cells', folder, 't', '--no-progress')).out).toMatch(/rows\s+2\n/);
  });

  test('verify finds a flipped bit, names the file and the offset, and ends with 1', async () => {
    expect(await run('store', 'verify', folder)).toMatchObject({
      code: 0,
      out: expect.stringContaining('2 files'),
    });
    const path = join(folder, sortedFiles()[0]!);
    const bytes = readFileSync(path);
    bytes[20] = bytes[20]! ^ 1;
    writeFileSync(path, bytes);
    const { code, err } = await run('store', 'verify', folder);
    expect(code).toBe(1);
    expect(err).toContain('ERR_CORRUPTION');
    expect(err).toContain(path);
    expect(err).toMatch(/byte \d+/);
  });

  test('a folder that is no store is left alone', async () => {
    const stranger = join(folder, '..');
    const { code, err } = await run('store', 'stats', stranger);
    expect(code).toBe(1);
    expect(err).toContain('ERR_NOT_A_STORE');
    expect(readdirSync(stranger)).toEqual(['db']);
  });
});

describe('rowan store, where there is no store or somebody has it open', () => {
  test('commands that look make nothing, and end with 1', async () => {
    const nowhere = join(folder, '..', 'nope');
    for (const command of ['stats', 'verify', 'compact', 'dump-wal', 'repair']) {
      const { code, err } = await run('store', command, nowhere);
      expect(code, command).toBe(1);
      expect(err, command).toContain('nope');
    }
    expect(existsSync(nowhere)).toBe(false);
  });

  test('stats and verify look beside the process that has it open', async () => {
    await using engine = await openEmbedded(folder, { background: 'inline', flushOnClose: false });
    await engine.table('t').put(new Put('new').addColumn('f', 'q', 'v'));
    const json = JSON.parse((await run('store', 'stats', '--json', folder)).out);
    expect(json.tables[0].regions[0].families[0]).toMatchObject({ cells: 1, memstoreCells: 2 });
    expect(await run('store', 'verify', folder)).toMatchObject({ code: 0 });
    expect(await run('store', 'compact', folder)).toMatchObject({ code: 1 });
  });

  test('repair saves what is sound and lists what is not', async () => {
    const [file] = sortedFiles();
    const bytes = readFileSync(join(folder, file!));
    bytes[40]! ^= 1;
    writeFileSync(join(folder, file!), bytes);
    expect((await run('store', 'verify', folder)).err).toMatch(
      /is damaged at byte .*run "rowan store repair"/,
    );
    const { code, out } = await run('store', 'repair', folder);
    expect(code).toBe(0);
    expect(out).toContain(`set aside: ${file}: "${join(folder, file!)}" is damaged`);
    expect(out).toContain(`lost: 1 cells of rows in a file to in a file in ${file}, of t, family f\n`);
    expect(out).not.toContain('rowan store repair');
    expect(out).toContain('Indexes, summaries and copies may disagree with the rows');
    expect((await run('store', 'verify', folder)).code).toBe(0);
    expect((await run('store', 'repair', folder)).out).toContain('The store is intact');
    expect((await run('store', 'repair', '--clock', folder)).out).toContain(
      'is not ahead. Nothing was changed',
    );
  });
});
