/**
 * Where readers of a store meet the process that has it open: a socket, so that neither has to leave anything behind when it
 * dies. It is the one thing that stands in a store's folder for readers, and the opener makes it.
 *
 * Linux: `READERS.sock` in the folder, reached by the folder's descriptor; where the disk has no sockets, a name of the network
 * namespace. Windows: a named pipe. Elsewhere: `READERS.sock`, or where its path is too long a socket in the system's folder for
 * temporary files. Each but the first is named by device and inode of the folder.
 */

import { closeSync, constants, openSync, statSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { SOCKET_FILE } from './directory-lock.js';
import { type DirectoryLock, errnoOf, ioError, joinPath } from './file-system.js';

export const READERS_FILE = 'READERS.sock';

/** The longest path of a socket that every system takes. */
const LONGEST_PATH = 100;
/** What is answered where nobody listens. */
const NOBODY = new Set(['ENOENT', 'ECONNREFUSED']);

/** One of both ends of a meeting: text goes to and fro until one of them ends it, or dies. */
export type Caller = Socket;

/** Every name of the meeting place of a folder, that which is tried first before. */
class Names {
  private readonly folder: number | undefined;
  readonly all: readonly string[];

  constructor(
    private readonly directory: string,
    place: string,
  ) {
    const id = identity(directory, place);
    if (process.platform === 'win32') {
      this.all = [`\\\\.\\pipe\\rowan-readers-${id}`];
    } else if (process.platform === 'linux' || process.platform === 'android') {
      this.folder = openFolder(directory, place);
      this.all = [`/proc/self/fd/${this.folder}/${READERS_FILE}`, `\0rowan-readers-${id}`];
    } else {
      const own = joinPath(place, READERS_FILE);
      const short = Buffer.byteLength(own) <= LONGEST_PATH;
      this.all = [short ? own : joinPath(tmpdir(), `rowan-readers-${id}.sock`)];
    }
  }

  /** Whether somebody has the store open; undefined where it cannot be told without taking the lock. */
  async isLocked(place: string): Promise<boolean | undefined> {
    if (this.folder === undefined) return undefined;
    const lock = `\0rowan-store-${identity(this.directory, place)}`;
    for (const name of [lock, `/proc/self/fd/${this.folder}/${SOCKET_FILE}`]) {
      const answer = await reach(name);
      if (typeof answer === 'string') {
        if (!NOBODY.has(answer)) return true;
      } else {
        answer.destroy();
        return true;
      }
    }
    return false;
  }

  close(): void {
    if (this.folder !== undefined) closeSync(this.folder);
  }
}

/**
 * Meets those who call at a folder that this process has locked; undefined where no socket can be had there, and so nobody can
 * call.
 */
export async function receiveCallers(
  directory: string,
  place: string,
  greet: (caller: Caller) => void,
): Promise<DirectoryLock | undefined> {
  const names = new Names(directory, place);
  for (const name of names.all) {
    const server = await listen(name, greet);
    if (server === undefined) continue;
    return {
      release: () =>
        new Promise((resolve) => {
          server.close(() => {
            names.close();
            resolve();
          });
        }),
    };
  }
  names.close();
  return undefined;
}

/**
 * Calls the process that has the store in the folder open: `nobody` when none has, `unreachable` when one has that receives
 * nobody.
 * @throws RowanError `ERR_IO` when it cannot be found out.
 */
export async function callOpener(
  directory: string,
  place: string,
): Promise<Caller | 'nobody' | 'unreachable'> {
  const names = new Names(directory, place);
  try {
    for (const name of names.all) {
      const answer = await reach(name);
      if (typeof answer !== 'string') return answer.unref();
      if (!NOBODY.has(answer)) throw ioError('call the process that has', directory, answer);
    }
    return (await names.isLocked(place)) === true ? 'unreachable' : 'nobody';
  } finally {
    names.close();
  }
}

/** The open socket, or the system's code of the failure. */
function reach(name: string): Promise<Socket | string> {
  return new Promise((resolve) => {
    const socket = connect(name);
    const failed = (error: unknown): void => resolve(errnoOf(error));
    socket.once('error', failed);
    socket.once('connect', () => {
      socket.off('error', failed);
      resolve(socket);
    });
  });
}

function listen(name: string, greet: (caller: Caller) => void): Promise<Server | undefined> {
  if (name.startsWith('/')) forget(name);
  return new Promise((resolve) => {
    const server = createServer((socket) => {
      socket.unref();
      greet(socket);
    });
    server.once('error', () => resolve(undefined));
    // Whoever may read the files may read them beside the opener.
    server.listen({ path: name, exclusive: true, readableAll: true, writableAll: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** What an opener that was killed has left: this one has its lock. */
function forget(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // There is none, or listening will fail.
  }
}

function identity(directory: string, place: string): string {
  try {
    const { dev, ino } = statSync(place, { bigint: true });
    return `${dev}-${ino}`;
  } catch (error) {
    throw ioError('look for', directory, errnoOf(error), error);
  }
}

function openFolder(directory: string, place: string): number {
  try {
    return openSync(place, constants.O_RDONLY);
  } catch (error) {
    throw ioError('open the folder', directory, errnoOf(error), error);
  }
}
