import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RowanError } from '../src/errors.js';
import { makeFolder } from '../src/folders.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

describe('folders', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'rowan-folders-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it('are made with their missing parents, of which the first is returned', () => {
    expect(makeFolder(join(root, 'a/b/c'))).toBe(join(root, 'a'));
    expect(existsSync(join(root, 'a/b/c'))).toBe(true);
    expect(makeFolder(join(root, 'a/b/d'))).toBe(join(root, 'a/b/d'));
    expect(makeFolder(join(root, 'a/b/d'))).toBeUndefined();
  });

  it('are not made where a file has the name, or the name of a parent', () => {
    writeFileSync(join(root, 'file'), '');
    expect(errorOf(join(root, 'file')).message).toBe(
      `Could not make the folder "${join(root, 'file')}" (EEXIST). The name exists already: remove that file, if it is not needed.`,
    );
    expect(errorOf(join(root, 'file/a')).message).toBe(
      `Could not make the folder "${join(root, 'file/a')}" (ENOTDIR). A part of the path is a file, no folder: check the path.`,
    );
    expect(errorOf(join(root, 'file/a/b')).code).toBe('ERR_IO');
  });

  it.runIf(process.platform === 'linux')('are refused where a file system takes none', () => {
    for (const path of ['/proc/x', '/proc/x/y/z']) {
      const error = errorOf(path);
      expect(error.message).toBe(
        'Could not make the folder "/proc/x" (ENOENT). "/proc" exists, but its file system takes no new folders: choose another path.',
      );
      expect(error.details).toEqual({ file: '/proc/x', call: 'make the folder', errno: 'ENOENT' });
    }
  });

  // In a process of its own: Node's own call would never return.
  it.runIf(process.platform === 'linux')('of stores are refused there', () => {
    const program = `
      import { defineEntity, open, part, text } from './build/src/index.js';
      const Note = defineEntity({ name: 'Note', table: { name: 'notes', families: { d: {} } }, key: [part('id', text)], columns: () => ({}) });
      await open({ path: '/proc/x/store', entities: [Note] }).catch((error) => console.log(error.code, error.message));`;
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      cwd: ROOT,
      encoding: 'utf8',
      timeout: 60_000,
    });
    expect(said).toContain('ERR_IO Could not make the folder "/proc/x" (ENOENT). "/proc" exists');
  });
});

it('no code makes folders by the call that may not return', () => {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const users = files
    .filter((name) => name.endsWith('.ts'))
    .filter((name) =>
      /mkdir(Sync)?\([^;]*recursive: true/.test(readFileSync(join(ROOT, 'src', name), 'utf8')),
    );
  expect(users).toEqual([]);
});

function errorOf(path: string): RowanError {
  try {
    makeFolder(path);
  } catch (error) {
    if (error instanceof RowanError) return error;
    throw error;
  }
  throw new Error(`${path} was made`);
}
