/** A PostgreSQL of its own: a new folder, a socket within it, no port. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';

const DEBIAN = '/usr/lib/postgresql';

export interface Postgres {
  connect(): Promise<Client>;
  stop(): Promise<void>;
}

/** Where initdb and postgres are. @throws Error that says how to get them. */
function programs(): string {
  const given = process.env['PG_BIN'];
  if (given !== undefined) return given;
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN) : [];
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  if (newest !== undefined) return join(DEBIAN, newest, 'bin');
  throw new Error(`There is no PostgreSQL in ${DEBIAN}: apt-get install postgresql, or set PG_BIN.`);
}

export async function startPostgres(): Promise<Postgres> {
  const bin = programs();
  const folder = await mkdtemp(join(tmpdir(), 'rowan-pg-'));
  const data = join(folder, 'data');
  await mkdir(data);
  await chmod(data, 0o700);
  // PostgreSQL refuses to run as root.
  const root = process.getuid?.() === 0;
  const user = root ? 'postgres' : undefined;
  if (user !== undefined) execFileSync('chown', ['-R', user, folder]);
  const as = (program: string, ...args: string[]): [string, string[]] =>
    user === undefined
      ? [program, args]
      : ['setpriv', [`--reuid=${user}`, `--regid=${user}`, '--init-groups', program, ...args]];
  execFileSync(...as(join(bin, 'initdb'), '-D', data, '-U', 'rowan', '--auth=trust', '--no-sync'), {
    stdio: 'ignore',
  });
  const server = spawn(
    ...as(join(bin, 'postgres'), '-D', data, '-k', folder, '-c', 'listen_addresses=', '-c', 'fsync=off'),
    { stdio: 'ignore' },
  );
  const exited = once(server, 'exit');
  const connect = async (): Promise<Client> => {
    const client = new Client({ host: folder, user: 'rowan', database: 'postgres' });
    await client.connect();
    return client;
  };
  await answering(connect, () => server.exitCode !== null);
  return {
    connect,
    async stop() {
      server.kill('SIGINT');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function answering(connect: () => Promise<Client>, ended: () => boolean): Promise<void> {
  for (;;) {
    try {
      return await (await connect()).end();
    } catch (cause) {
      if (ended()) throw new Error('PostgreSQL ended.', { cause });
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}
