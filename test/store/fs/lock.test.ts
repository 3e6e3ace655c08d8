import * as fs from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LockCalls, lockByOpen } from '../../../src/store/fs/directory-lock.js';
import { NodeFileSystem } from '../../../src/store/fs/index.js';
import { runScript } from '../../crash/run-script.js';

let directory: string;

beforeEach(() => {
  directory = fs.mkdtempSync(join(tmpdir(), 'rowan-lock-'));
});

afterEach(() => fs.rmSync(directory, { recursive: true }));

describe('the lock of a folder', () => {
  it('names the process that has it, and goes with a kill -9', async () => {
    const holder = runScript('test/crash/hold-lock.ts', [directory]);
    await holder.line((line) => line === 'locked');
    const files = new NodeFileSystem();
    await expect(files.lock(directory)).rejects.toMatchObject({
      code: 'ERR_LOCKED',
      details: { pid: holder.pid, file: directory },
    });
    await expect(files.lock(directory)).rejects.toThrow(`process ${holder.pid}`);
    holder.kill();
    await holder.exit;
    expect(JSON.parse(fs.readFileSync(join(directory, 'LOCK'), 'utf8'))).toMatchObject({ pid: holder.pid });
    const lock = await files.lock(directory);
    expect(JSON.parse(fs.readFileSync(join(directory, 'LOCK'), 'utf8'))).toMatchObject({ pid: process.pid });
    await lock.release();
  });

  it('does not hold the process up', async () => {
    const script = runScript('test/crash/hold-lock.ts', [directory, 'end']);
    expect(await script.exit).toBe(0);
    expect(script.lines).toEqual(['locked']);
  });

  it('is found through a symbolic link to the folder', async () => {
    const other = `${directory}-link`;
    fs.symlinkSync(directory, other);
    const files = new NodeFileSystem();
    const lock = await files.lock(directory);
    await expect(files.lock(other)).rejects.toMatchObject({ code: 'ERR_LOCKED' });
    await lock.release();
    fs.unlinkSync(other);
  });

  it('is refused with a plain message when the LOCK file tells nothing', async () => {
    const files = new NodeFileSystem();
    const lock = await files.lock(directory);
    fs.writeFileSync(join(directory, 'LOCK'), 'not json');
    await expect(files.lock(directory)).rejects.toThrow('in use by another process');
    await lock.release();
  });
});

describe('the socket in the folder, which holds between containers', () => {
  const other = (): Promise<Server> =>
    new Promise((resolve) => {
      const server = createServer((socket) => socket.destroy());
      server.listen(join(directory, 'LOCK.sock'), () => resolve(server));
    });

  it('keeps an opener out that does not see the other lock', async () => {
    // What is left when the holder is in another network namespace: only its socket in the folder answers.
    const holder = await other();
    const files = new NodeFileSystem();
    await expect(files.lock(directory)).rejects.toMatchObject({ code: 'ERR_LOCKED' });
    await new Promise((resolve) => holder.close(resolve));
    const lock = await files.lock(directory);
    expect(fs.existsSync(join(directory, 'LOCK.sock'))).toBe(true);
    await lock.release();
    expect(fs.existsSync(join(directory, 'LOCK.sock'))).toBe(false);
  });

  it('is taken over from a process that was killed', async () => {
    const script = runScript('test/crash/hold-lock.ts', [directory]);
    await script.line((line) => line === 'locked');
    script.kill();
    await script.exit;
    expect(fs.existsSync(join(directory, 'LOCK.sock'))).toBe(true);
    const lock = await new NodeFileSystem().lock(directory);
    await lock.release();
  });

  it('is made in a folder whose path is longer than a socket can have', async () => {
    const deep = join(directory, 'x'.repeat(90), 'y'.repeat(90));
    fs.mkdirSync(deep, { recursive: true });
    const files = new NodeFileSystem();
    const lock = await files.lock(deep);
    expect(fs.statSync(join(deep, 'LOCK.sock')).isSocket()).toBe(true);
    await expect(files.lock(deep)).rejects.toMatchObject({ code: 'ERR_LOCKED' });
    await lock.release();
    expect(fs.existsSync(join(deep, 'LOCK.sock'))).toBe(false);
  });

  it.runIf(process.platform === 'linux')(
    'says what is missing when the process may open no more files',
    async () => {
      const script = runScript('test/crash/few-descriptors.ts', [join(directory, 'db')], {
        descriptors: 400,
      });
      expect(await script.exit, script.errors()).toBe(0);
      expect(script.lines.at(-1)).toBe('opened');
      const refused = script.lines.slice(0, -1).map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(refused.length).toBeGreaterThan(4);
      for (const each of refused) {
        expect(each).toMatchObject({ code: 'ERR_IO', retryable: true, errno: 'EMFILE' });
        expect(each['message']).toMatch(/ulimit -n/);
        expect(each['file']).toMatch(directory);
      }
    },
  );

  it('keeps an opener out while its holder is too busy to answer', async () => {
    const script = runScript('test/crash/busy-holder.ts', [join(directory, 'LOCK.sock')]);
    await script.line((line) => line === 'busy');
    // Those who knock fill its queue; the next is answered EAGAIN.
    const knocks: Socket[] = [];
    const answer = await new Promise<string>((resolve) => {
      const knock = (): void => {
        const socket = connect(join(directory, 'LOCK.sock'));
        knocks.push(socket);
        socket.once('connect', knock);
        socket.once('error', (error) => resolve((error as NodeJS.ErrnoException).code ?? ''));
      };
      knock();
    });
    expect(answer).toBe('EAGAIN');
    await expect(new NodeFileSystem().lock(directory)).rejects.toMatchObject({
      code: 'ERR_LOCKED',
      cause: 'EAGAIN',
    });
    expect(fs.statSync(join(directory, 'LOCK.sock')).isSocket()).toBe(true);
    for (const socket of knocks) socket.destroy();
    script.kill();
    await script.exit;
    await (await new NodeFileSystem().lock(directory)).release();
  });

  it('keeps an opener out when the answer says nothing of the holder', async () => {
    const path = join(directory, 'LOCK.sock');
    fs.symlinkSync('LOCK.sock', path);
    await expect(new NodeFileSystem().lock(directory)).rejects.toMatchObject({
      code: 'ERR_LOCKED',
      cause: 'ELOOP',
    });
    expect(fs.lstatSync(path).isSymbolicLink()).toBe(true);
  });

  it('is left out where there can be none', async () => {
    fs.mkdirSync(join(directory, 'LOCK.sock'));
    const lock = await new NodeFileSystem().lock(directory);
    await lock.release();
    expect(fs.statSync(join(directory, 'LOCK.sock')).isDirectory()).toBe(true);
  });
});

describe('the lock by opening, for the systems that have it', () => {
  const path = () => join(directory, 'LOCK');

  function fake(open: LockCalls['openSync']): LockCalls {
    return { ...fs, openSync: open };
  }

  it('asks for the exclusive lock and writes the holder', async () => {
    let flags = 0;
    const lock = lockByOpen(
      directory,
      path(),
      '{"pid":1}',
      'darwin',
      fake((file, flag, mode) => {
        flags = Number(flag);
        return fs.openSync(file, flags & ~0x20, mode);
      }),
    );
    expect(flags & 0x20).toBe(0x20);
    expect(fs.readFileSync(path(), 'utf8')).toBe('{"pid":1}\n');
    await lock.release();
    await lock.release();
  });

  it.each([
    ['darwin', 'EAGAIN', 'ERR_LOCKED'],
    ['win32', 'EBUSY', 'ERR_LOCKED'],
    ['darwin', 'EACCES', 'ERR_IO'],
    ['win32', 'EIO', 'ERR_IO'],
  ] as const)('on %s takes %s for %s', (platform, errno, code) => {
    fs.writeFileSync(path(), '{"pid":77,"host":"there"}\n');
    const calls = fake(() => {
      throw Object.assign(new Error(errno), { code: errno });
    });
    expect(() => lockByOpen(directory, path(), '', platform, calls)).toThrow(
      expect.objectContaining({ code }) as Error,
    );
  });

  it('refuses a system that has no such lock', () => {
    expect(() => lockByOpen(directory, path(), '', 'aix')).toThrow(/aix has no file lock/);
  });
});
