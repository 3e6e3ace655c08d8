import * as fs from 'node:fs';
import { closeSync, constants, openSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { RowanError, UnsupportedError } from '../../errors.js';
import { type DirectoryLock, errnoOf, ioError, joinPath } from './file-system.js';

export const LOCK_FILE = 'LOCK';

/** The contents of the LOCK file, as JSON. */
export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  /** Linux: which start of the machine the process belongs to. */
  readonly bootId?: string;
  /** Linux: when the process started, in clock ticks after the start of the machine. */
  readonly startTime?: string;
}

/** The refusal of a second opener, with what the LOCK file says of the first. */
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
    return undefined; // The file only words the message; the lock itself was already refused.
  }
}

/** The contents that this process writes into the LOCK file. */
export function thisProcess(): LockHolder {
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

/** Errors by which operating systems say that the lock is taken. */
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

/**
 * The part of the lock on Linux that holds between network namespaces (containers that mount one folder): a listening
 * socket in the folder itself, which any process on the machine can knock at. Its file outlives a killed process, but
 * nobody answers there then, and the next opener takes the name over.
 *
 * Two openers in two namespaces that both find a dead one's file at the same moment could both take it over; within a
 * namespace the abstract socket, taken first, keeps them apart.
 */

export const SOCKET_FILE = 'LOCK.sock';

/** What says nothing of who is there: this process, or the system, has no more of what a socket takes. */
const NOTHING_LEFT = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS']);

/**
 * The guard of a folder. Its socket is reached through the folder's descriptor: a socket's path has at most 107 bytes,
 * and the folder may be renamed while the lock is held. Where the disk has no sockets there is none: the
 * abstract socket is all the lock then.
 */
export class SocketGuard {
  private constructor(
    private readonly server: Server,
    private readonly folder: number,
  ) {}

  /** @throws RowanError `ERR_LOCKED` when somebody answers; `ERR_IO` when it cannot be found out. */
  static async take(directory: string, place: string): Promise<SocketGuard | undefined> {
    const folder = openFolder(directory, place);
    try {
      const server = await takeOver(directory, `/proc/self/fd/${folder}/${SOCKET_FILE}`);
      if (server !== undefined) return new SocketGuard(server, folder);
    } catch (error) {
      closeSync(folder);
      throw error;
    }
    closeSync(folder);
    return undefined;
  }

  /** Closing removes the socket's file too. */
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

async function takeOver(directory: string, path: string): Promise<Server | undefined> {
  const answer = await knock(path);
  if (NOTHING_LEFT.has(answer)) throw ioError('lock', directory, answer);
  // Nobody is there only where there is no socket, or one that its owner has left. Anybody else may be: a busy holder
  // (EAGAIN), one of another user (EACCES).
  if (answer !== 'ENOENT' && answer !== 'ECONNREFUSED') throw lockedError(directory, answer);
  if (answer === 'ECONNREFUSED') {
    try {
      unlinkSync(path);
    } catch {
      // Listening will fail, and the guard is left out.
    }
  }
  return listenOnSocket(directory, path);
}

/** "answered", or the system's code of the failure. */
function knock(path: string): Promise<string> {
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
      if (NOTHING_LEFT.has(errno)) reject(ioError('lock', directory, errno, error));
      else resolve(undefined);
    });
    // Anybody may knock: an opener of another user is to be told, not let in.
    server.listen({ path, exclusive: true, readableAll: true, writableAll: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}

/**
 * One process, and in it one opener, has a store open. The claim is one that the kernel drops with its owner, however
 * the owner ends: a file with a process id in it would outlive a kill, and in containers every process is number 1.
 *
 * Linux: a listening socket in the abstract namespace, named by the folder's device and inode, so that no second path
 * to the same folder gets past it; and for containers a second one in the folder (socket-guard.ts). macOS, BSD and Windows: the LOCK file opened with an exclusive lock.
 *
 * Beside it the LOCK file says who the holder is, for the message to the second opener. It is never removed: a lock on
 * a removed file and one on its successor would both be granted.
 *
 * Not seen are openers on another machine, over a network file system.
 */

/**
 * Claims `directory`, which must exist and is found at `place`.
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
    guard = await SocketGuard.take(directory, place);
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
    // exclusive: in a cluster worker the socket would else be shared with its siblings.
    server.listen({ path: name, exclusive: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}
