import * as fs from 'node:fs';
import { UnsupportedError } from '../../errors.js';
import type { DirectoryLock } from './file-system.js';
import { errnoOf, ioError } from './io-error.js';
import { lockedError } from './lock-holder.js';

/** libuv's UV_FS_O_EXLOCK: the system's flag for "lock while opening". Node passes it through but does not name it. */
const EXCLUSIVE_LOCK: Partial<Record<NodeJS.Platform, number>> = {
  darwin: 0x20,
  freebsd: 0x20,
  openbsd: 0x20,
  netbsd: 0x20,
  win32: 0x10000000,
};

/** What the systems answer when the lock is taken. */
const TAKEN_ON_BSD = new Set(['EAGAIN', 'EWOULDBLOCK']);
const TAKEN_ON_WINDOWS = new Set(['EBUSY', 'EPERM', 'EACCES']);

/** The calls that the lock makes, so that a test can answer for a system it does not run on. */
export type LockCalls = Pick<
  typeof fs,
  'openSync' | 'closeSync' | 'ftruncateSync' | 'writeSync' | 'existsSync'
>;

/**
 * Locks a folder by opening its LOCK file with the system's exclusive lock, which ends with the descriptor.
 * @throws RowanError `ERR_LOCKED` when it is taken; UnsupportedError on systems without such a lock.
 */
export function lockByOpen(
  directory: string,
  path: string,
  content: string,
  platform: NodeJS.Platform = process.platform,
  calls: LockCalls = fs,
): DirectoryLock {
  const flag = EXCLUSIVE_LOCK[platform];
  if (flag === undefined) {
    throw new UnsupportedError(
      `There is no lock on ${platform} that ends with its process, so a store cannot be opened safely. ` +
        'Use Linux, macOS, a BSD or Windows.',
    );
  }
  const { O_RDWR, O_CREAT, O_NONBLOCK = 0 } = fs.constants;
  let fd: number;
  try {
    fd = calls.openSync(path, O_RDWR | O_CREAT | O_NONBLOCK | flag, 0o666);
  } catch (error) {
    const errno = errnoOf(error);
    const taken = platform === 'win32' ? TAKEN_ON_WINDOWS : TAKEN_ON_BSD;
    if (taken.has(errno) && calls.existsSync(path)) throw lockedError(directory, error);
    throw ioError('lock', path, errno, error);
  }
  try {
    calls.ftruncateSync(fd, 0);
    calls.writeSync(fd, `${content}\n`);
  } catch (error) {
    calls.closeSync(fd);
    throw ioError('write', path, errnoOf(error), error);
  }
  return new OpenFileLock(fd, calls);
}

class OpenFileLock implements DirectoryLock {
  private fd: number;
  private readonly calls: LockCalls;

  constructor(fd: number, calls: LockCalls) {
    this.fd = fd;
    this.calls = calls;
  }

  release(): Promise<void> {
    if (this.fd >= 0) this.calls.closeSync(this.fd);
    this.fd = -1;
    return Promise.resolve();
  }
}
