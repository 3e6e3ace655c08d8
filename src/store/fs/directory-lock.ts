import * as fs from 'node:fs';
import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { errnoOf, ioError, RowanError, UnsupportedError } from '../../errors.js';
import { type DirectoryLock, joinPath } from './file-system.js';

export const LOCK_FILE = 'LOCK';

/** The contents of the LOCK file, as JSON. */
interface LockHolder {
  readonly pid: number;
  readonly host: string;
  /** Linux: the id of the machine's boot in which the process runs. */
  readonly bootId?: string;
  /** Linux: when the process started, in clock ticks since boot. */
  readonly startTime?: string;
}

/** The error for a second opener, with the holder that the LOCK file names. */
export function lockedError(directory: string, cause?: unknown): RowanError {
  const holder = readHolder(joinPath(directory, LOCK_FILE));
  const who =
    holder === undefined
      ? 'another process'
      : holder.pid === process.pid && holder.host === hostname()
        ? `this process (pid ${holder.pid}) itself`
        : `process ${holder.pid} on ${holder.host}`;
  return new RowanError(
    'ERR_LOCKED',
    `The store in "${directory}" is in use by ${who}. Close it there first, or read beside it with ` +
      'readOnly: true: one process at a time writes a store.',
    { cause, retryable: true, details: { file: directory, pid: holder?.pid, host: holder?.host } },
  );
}

function readHolder(path: string): LockHolder | undefined {
  try {
    const holder = JSON.parse(readFileSync(path, 'utf8')) as Partial<LockHolder> | null;
    if (typeof holder?.pid !== 'number' || typeof holder.host !== 'string') return undefined;
    return holder as LockHolder;
  } catch {
    return undefined; // The LOCK file only words the message; the lock itself was already refused.
  }
}

/** The contents that this process writes into the LOCK file. */
function thisProcess(): LockHolder {
  const bootId = readProc('/proc/sys/kernel/random/boot_id');
  // The name in parentheses may hold spaces; the start time is field 22, the 20th after it.
  const startTime = readProc('/proc/self/stat')?.split(') ').pop()?.split(' ')[19];
  return {
    pid: process.pid,
    host: hostname(),
    ...(bootId === undefined ? {} : { bootId }),
    ...(startTime === undefined ? {} : { startTime }),
  };
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** libuv's UV_FS_O_EXLOCK: the system's flag for "lock while opening". Node passes it through but does not name it. */
const EXCLUSIVE_LOCK: Partial<Record<NodeJS.Platform, number>> = {
  darwin: 0x20,
  freebsd: 0x20,
  openbsd: 0x20,
  netbsd: 0x20,
  win32: 0x10000000,
};

/** System errors that mean that another process holds the lock. */
const HELD_ON_BSD = new Set(['EAGAIN', 'EWOULDBLOCK']);
const HELD_ON_WINDOWS = new Set(['EBUSY', 'EPERM', 'EACCES']);

/** The file calls that the lock makes; tests replace them to simulate other systems. */
export type LockCalls = Pick<
  typeof fs,
  'openSync' | 'closeSync' | 'ftruncateSync' | 'writeSync' | 'existsSync'
>;

/**
 * Locks a folder by opening its LOCK file with the system's exclusive lock, which the system drops with the descriptor.
 * @throws RowanError `ERR_LOCKED` when another opener holds it; UnsupportedError on systems without such a lock.
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
      `${platform} has no file lock that ends with its process, so a store cannot be opened safely. ` +
        'Use Linux, macOS, a BSD or Windows.',
    );
  }
  const { O_RDWR, O_CREAT, O_NONBLOCK = 0 } = fs.constants;
  let fd: number;
  try {
    fd = calls.openSync(path, O_RDWR | O_CREAT | O_NONBLOCK | flag, 0o666);
  } catch (error) {
    const errno = errnoOf(error);
    const held = platform === 'win32' ? HELD_ON_WINDOWS : HELD_ON_BSD;
    if (held.has(errno) && calls.existsSync(path)) throw lockedError(directory, error);
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

export const SOCKET_FILE = 'LOCK.sock';

/** Errors that say nothing about a holder: this process, or the system, has no sockets or memory left. */
const OUT_OF_RESOURCES = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS']);

/**
 * The second half of the lock on Linux. It works between network namespaces (containers that mount one folder): a listening
 * socket in the folder itself, to which any process on the machine can connect. Its file outlives a killed process, but nobody
 * listens on it then, and the next opener replaces it.
 *
 * Two openers in two namespaces that find the file of a killed process at the same moment could both replace it. Within a
 * namespace the abstract socket, which is locked first, prevents that.
 *
 * A listening socket in a store's folder. It is reached through the folder's descriptor, because a socket's path has at most 107
 * bytes and the folder may be renamed while it is locked. Where the file system has no sockets there is none, and the abstract
 * socket alone is the lock.
 */
class SocketGuard {
  private constructor(
    private readonly server: Server,
    private readonly folder: number,
  ) {}

  /** @throws RowanError `ERR_LOCKED` when a process listens there; `ERR_IO` when that cannot be determined. */
  static async acquire(directory: string, place: string): Promise<SocketGuard | undefined> {
    const folder = openFolder(directory, place);
    try {
      const server = await listenUnlessHeld(directory, `/proc/self/fd/${folder}/${SOCKET_FILE}`);
      if (server !== undefined) return new SocketGuard(server, folder);
    } catch (error) {
      closeSync(folder);
      throw error;
    }
    closeSync(folder);
    return undefined;
  }

  /** Closing the server also removes the socket's file. */
  release(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => {
        closeSync(this.folder);
        resolve();
      });
    });
  }
}

function openFolder(directory: string, place: string): number {
  try {
    return openSync(place, constants.O_RDONLY);
  } catch (error) {
    throw ioError('open the folder', directory, errnoOf(error), error);
  }
}

async function listenUnlessHeld(directory: string, path: string): Promise<Server | undefined> {
  const answer = isAbsent(path) ? 'ENOENT' : await tryConnect(path);
  if (OUT_OF_RESOURCES.has(answer)) throw ioError('lock', directory, answer);
  // Free only if there is no socket, or one without a listener. Any other error may come from a holder: one that is busy
  // (EAGAIN), or one of another user (EACCES).
  if (answer !== 'ENOENT' && answer !== 'ECONNREFUSED') throw lockedError(directory, answer);
  if (answer === 'ECONNREFUSED') {
    try {
      unlinkSync(path);
    } catch {
      // Listening will fail, and only the abstract socket is held.
    }
  }
  return listenOnSocket(directory, path);
}

/** Whether there is certainly no such file: a look takes a tenth of the time of an attempt to connect. */
function isAbsent(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** "answered", or the system's error code. */
function tryConnect(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve('answered');
    });
    socket.once('error', (error) => resolve(errnoOf(error)));
  });
}

function listenOnSocket(directory: string, path: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error) => {
      const errno = errnoOf(error);
      if (OUT_OF_RESOURCES.has(errno)) reject(ioError('lock', directory, errno, error));
      else resolve(undefined);
    });
    // All users may connect: an opener of another user must learn that the store is locked.
    server.listen({ path, exclusive: true, readableAll: true, writableAll: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}

/**
 * At most one opener, in one process, has a store open. The lock is one that the kernel drops with its owner, however the owner
 * ends: a file with a process id would outlive a kill, and in containers every process has id 1.
 *
 * Linux: a listening socket in the abstract namespace, named by the folder's device and inode, so that a second path to the same
 * folder finds it too; and for containers a second socket in the folder ({@link SocketGuard}). macOS, BSD and Windows: the LOCK
 * file, opened with an exclusive lock.
 *
 * The LOCK file also names the holder, for the message to the second opener. It is never removed: a lock on a removed file
 * and one on its successor could both be granted.
 *
 * Openers on another machine, over a network file system, are not detected.
 *
 * Locks `directory`, which must exist. `place` is the path by which the system finds it.
 * @throws RowanError `ERR_LOCKED` naming the holder.
 */
export async function lockDirectory(directory: string, place = directory): Promise<DirectoryLock> {
  const path = joinPath(place, LOCK_FILE);
  if (process.platform !== 'linux' && process.platform !== 'android') {
    return lockByOpen(directory, path, JSON.stringify(thisProcess()));
  }
  const server = await listen(directory, place);
  let guard: SocketGuard | undefined;
  try {
    guard = await SocketGuard.acquire(directory, place);
    writeHolder(path, directory);
  } catch (error) {
    await new SocketLock(server, guard).release();
    throw error;
  }
  return new SocketLock(server, guard);
}

function writeHolder(path: string, directory: string): void {
  try {
    writeFileSync(path, `${JSON.stringify(thisProcess())}\n`);
  } catch (error) {
    throw ioError('write', joinPath(directory, LOCK_FILE), errnoOf(error), error);
  }
}

class SocketLock implements DirectoryLock {
  private server: Server | undefined;
  private readonly guard: SocketGuard | undefined;

  constructor(server: Server, guard: SocketGuard | undefined) {
    this.server = server;
    this.guard = guard;
  }

  async release(): Promise<void> {
    const server = this.server;
    this.server = undefined;
    if (server === undefined) return;
    await this.guard?.release();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

function abstractName(directory: string, place: string): string {
  try {
    const stat = statSync(place, { bigint: true });
    return `\0rowan-store-${stat.dev}-${stat.ino}`;
  } catch (error) {
    throw ioError('lock the folder', directory, errnoOf(error), error);
  }
}

function listen(directory: string, place: string): Promise<Server> {
  const name = abstractName(directory, place);
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error) => {
      const errno = errnoOf(error);
      reject(
        errno === 'EADDRINUSE' ? lockedError(directory, error) : ioError('lock', directory, errno, error),
      );
    });
    // exclusive: otherwise a cluster worker would share the socket with its siblings.
    server.listen({ path: name, exclusive: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}
