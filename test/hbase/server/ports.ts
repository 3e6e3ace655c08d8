import { createServer } from 'node:net';

/** Of whose ports every eighth is tried, from its own number on: no worker finds one that another has found and not bound yet. */
const WORKERS = 8;

/**
 * Ports on loopback that nobody listens on. They lie below the range from which the system takes ports for outgoing
 * connections, so that none of those takes one before the server binds it.
 */
export async function freePorts(count: number): Promise<number[]> {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS;
  const found: number[] = [];
  while (found.length < count) {
    const candidate = 20_000 + WORKERS * Math.floor(Math.random() * 1500) + worker;
    if (!found.includes(candidate) && (await isFree(candidate))) found.push(candidate);
  }
  return found;
}

/** Whether nobody listens on this port of 127.0.0.1. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
