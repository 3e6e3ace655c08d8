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

import { statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { type DirectoryLock, joinPath } from './file-system.js';
import { errnoOf, ioError } from './io-error.js';
import { lockByOpen } from './lock-by-open.js';
import { LOCK_FILE, lockedError, thisProcess } from './lock-holder.js';
import { SocketGuard } from './socket-guard.js';

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
    writeHolder(path);
  } catch (error) {
    await new SocketLock(server, guard).release();
    throw error;
  }
  return new SocketLock(server, guard);
}

function writeHolder(path: string): void {
  try {
    writeFileSync(path, `${JSON.stringify(thisProcess())}\n`);
  } catch (error) {
    throw ioError('write', path, errnoOf(error), error);
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
