import type { Server } from 'node:net';
import { RowanError } from '../errors.js';
import type { Address } from './options.js';

/** The length of the accept queue: after a restart many clients reconnect at once. */
const BACKLOG = 4096;

/** Starts to listen; returns the address with the actual port. */
export function listening(server: Server, { host, port }: Address): Promise<Address> {
  return new Promise((resolve, reject) => {
    const refused = (cause: NodeJS.ErrnoException): void => {
      reject(
        new RowanError(
          'ERR_IO',
          `The server cannot listen at ${host}:${port}: ${cause.message}. Stop the program that uses the port, or choose another one (0: a free port).`,
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
