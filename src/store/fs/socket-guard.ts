/**
 * The part of the lock on Linux that holds between network namespaces (containers that mount one folder): a listening
 * socket in the folder itself, which any process on the machine can knock at. Its file outlives a killed process, but
 * nobody answers there then, and the next opener takes the name over.
 *
 * Two openers in two namespaces that both find a dead one's file at the same moment could both take it over; within a
 * namespace the abstract socket, taken first, keeps them apart.
 */

import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { errnoOf } from './io-error.js';
import { lockedError } from './lock-holder.js';

export const SOCKET_FILE = 'LOCK.sock';

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

  /** @throws RowanError `ERR_LOCKED` when somebody answers. */
  static async take(directory: string, place: string): Promise<SocketGuard | undefined> {
    const folder = openSync(place, constants.O_RDONLY);
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

async function takeOver(directory: string, path: string): Promise<Server | undefined> {
  const answer = await knock(path);
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
  return listen(path);
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

function listen(path: string): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => resolve(undefined));
    // Anybody may knock: an opener of another user is to be told, not let in.
    server.listen({ path, exclusive: true, readableAll: true, writableAll: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}
