import type { Server } from 'node:net';
import { RowanError } from '../errors.js';
import type { Address } from './options.js';

/** Connections that may wait to be taken: clients come in crowds when a server is there again. */
const BACKLOG = 4096;

/** Listens; answers the address with the port that it was given. */
export function listening(server: Server, { host, port }: Address): Promise<Address> {
  return new Promise((resolve, reject) => {
    const refused = (cause: NodeJS.ErrnoException): void => {
      reject(
        new RowanError(
          'ERR_IO',
          `The server cannot listen at ${host}:${port}: ${cause.message}. Stop what is there, or choose another port (0: a free one).`,
          { cause },
        ),
      );
    };
    server.once('error', refused);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', refused);
      server.on('error', () => undefined);
      resolve({ host, port: (server.address() as { port: number }).port });
    });
  });
}
