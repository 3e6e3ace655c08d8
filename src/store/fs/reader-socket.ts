/**
 * The local socket over which readers in other processes reach the process that has a store open. The system closes it with its
 * process, so neither side leaves state behind when it dies. The writer process creates it; it is the only thing in a store's
 * folder that exists for readers.
 *
 * Linux: `READERS.sock` in the folder, reached through the folder's descriptor; where the file system has no sockets, a name in
 * the abstract namespace. Windows: a named pipe. Elsewhere: `READERS.sock` in the folder, or where its path is too long a socket
 * in the system's temporary folder. All but the first are named by device and inode of the folder.
 */

import { closeSync, constants, openSync, statSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { errnoOf, ioError } from '../../errors.js';
import { SOCKET_FILE } from './directory-lock.js';
import { type DirectoryLock, joinPath } from './file-system.js';

const READERS_FILE = 'READERS.sock';

/** The longest socket path, in bytes, that every system accepts. */
const MAX_SOCKET_PATH = 100;
/** The system's codes for a socket that nobody listens on. */
const NO_LISTENER = new Set(['ENOENT', 'ECONNREFUSED']);

/** Either end of a connection between a reader and the writer process. */
type ReaderStream = Socket;

/** Every socket name of a folder, in the order in which they are tried. */
class SocketNames {
  private readonly folder: number | undefined;
  readonly all: readonly string[];

  constructor(
    private readonly directory: string,
    place: string,
  ) {
    const id = folderId(directory, place);
    if (process.platform === 'win32') {
      this.all = [`\\\\.\\pipe\\rowan-readers-${id}`];
    } else if (process.platform === 'linux' || process.platform === 'android') {
      this.folder = openFolder(directory, place);
      this.all = [`/proc/self/fd/${this.folder}/${READERS_FILE}`, `\0rowan-readers-${id}`];
    } else {
      const own = joinPath(place, READERS_FILE);
      const short = Buffer.byteLength(own) <= MAX_SOCKET_PATH;
      this.all = [short ? own : joinPath(tmpdir(), `rowan-readers-${id}.sock`)];
    }
  }

  /** Whether a process has the store open; undefined on systems where only taking the lock would tell. */
  async isLocked(place: string): Promise<boolean | undefined> {
    if (this.folder === undefined) return undefined;
    const lock = `\0rowan-store-${folderId(this.directory, place)}`;
    for (const name of [lock, `/proc/self/fd/${this.folder}/${SOCKET_FILE}`]) {
      const answer = await tryConnect(name);
      if (typeof answer === 'string') {
        if (!NO_LISTENER.has(answer)) return true;
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
 * Accepts readers of the store in `directory`, which this process has locked; undefined where no socket can be created, and so
 * no reader can connect.
 */
export async function listenForReaders(
  directory: string,
  place: string,
  onReader: (stream: ReaderStream) => void,
): Promise<DirectoryLock | undefined> {
  const names = new SocketNames(directory, place);
  for (const name of names.all) {
    const server = await listen(name, onReader);
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
 * Connects to the process that has the store in `directory` open. `nobody`: no process has it open; `unreachable`: one has, and
 * accepts no readers.
 * @throws RowanError `ERR_IO` when neither can be determined.
 */
export async function connectToWriter(
  directory: string,
  place: string,
): Promise<ReaderStream | 'nobody' | 'unreachable'> {
  const names = new SocketNames(directory, place);
  try {
    for (const name of names.all) {
      const answer = await tryConnect(name);
      if (typeof answer !== 'string') return answer.unref();
      if (!NO_LISTENER.has(answer)) throw ioError('call the process that has', directory, answer);
    }
    return (await names.isLocked(place)) === true ? 'unreachable' : 'nobody';
  } finally {
    names.close();
  }
}

/** The open socket, or the system's code of the failure. */
function tryConnect(name: string): Promise<Socket | string> {
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

function listen(name: string, onReader: (stream: ReaderStream) => void): Promise<Server | undefined> {
  if (name.startsWith('/')) removeStaleSocket(name);
  return new Promise((resolve) => {
    const server = createServer((socket) => {
      socket.unref();
      onReader(socket);
    });
    server.once('error', () => resolve(undefined));
    // Readable and writable by all: whoever may read the store's files may read them beside the writer process.
    server.listen({ path: name, exclusive: true, readableAll: true, writableAll: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** Removes the socket of a writer process that was killed. This process has the lock, so no other process listens there. */
function removeStaleSocket(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // There is none, or listening will fail.
  }
}

function folderId(directory: string, place: string): string {
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
