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
import { joinPath } from './file-system.js';
import { errnoOf } from './io-error.js';
import { lockedError } from './lock-holder.js';

export const SOCKET_FILE = 'LOCK.sock';

/** A socket's path has at most 107 bytes; a longer one is reached through the folder's descriptor. */
const MAX_SOCKET_PATH = 100;

/** The guard of a folder. Where the disk has no sockets there is none: the abstract socket is all the lock then. */
export class SocketGuard {
  private constructor(
    private readonly server: Server,
    private readonly folder: number | undefined,
  ) {}

  /** @throws RowanError `ERR_LOCKED` when somebody answers. */
  static async take(directory: string): Promise<SocketGuard | undefined> {
    const direct = joinPath(directory, SOCKET_FILE);
    const folder =
      Buffer.byteLength(direct) > MAX_SOCKET_PATH ? openSync(directory, constants.O_RDONLY) : undefined;
    const path = folder === undefined ? direct : `/proc/self/fd/${folder}/${SOCKET_FILE}`;
    try {
      const server = await takeOver(directory, path);
      if (server !== undefined) return new SocketGuard(server, folder);
    } catch (error) {
      if (folder !== undefined) closeSync(folder);
      throw error;
    }
    if (folder !== undefined) closeSync(folder);
    return undefined;
  }

  /** Closing removes the socket's file too. */
  release(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => {
        if (this.folder !== undefined) closeSync(this.folder);
        resolve();
      });
    });
  }
}

async function takeOver(directory: string, path: string): Promise<Server | undefined> {
  const answer = await knock(path);
  if (answer === 'answered') throw lockedError(directory);
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
