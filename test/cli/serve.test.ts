/** `rowan serve` as a process: what its flags let in and keep out, and command lines that it refuses. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import { secretAuthenticator } from '../../src/hbase/security/delegation-token.js';
import { Get, Put, tableDescriptor } from '../../src/table/index.js';
import { run } from './run.js';

const MAIN = fileURLToPath(new URL('../../dist/rowan.js', import.meta.url));
const OWNER = 'owner-secret-0123456789';
const READER = 'reader-secret-012345678';

let folder: string;
const path = (name: string): string => join(folder, name);
const content = (name: string): Buffer => readFileSync(path(name));

/** A key and a certificate that it has signed itself: NAME.key and NAME.pem. */
function makeCertificate(name: string): void {
  const key = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    path(`${name}.key`),
  ];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...key, ...subject, '-out', path(`${name}.pem`)], {
    stdio: 'ignore',
  });
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-serve-'));
  for (const name of ['server', 'client', 'stranger']) makeCertificate(name);
  const users = { owner: { secret: OWNER, admin: true }, reader: { secret: READER, read: ['*'] } };
  writeFileSync(path('users.json'), JSON.stringify(users), { mode: 0o600 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A server that runs while `work` does. Throws unless it ends with 0 at SIGTERM. */
async function serving(
  args: readonly string[],
  work: (
    connect: <T>(options: HBaseOptions, use: (engine: Engine) => Promise<T>) => Promise<T>,
  ) => Promise<void>,
): Promise<void> {
  const child = spawn(process.execPath, [MAIN, 'serve', path('store'), '--listen', '127.0.0.1:0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const port = await portOf(child);
    await work(async (options, use) => {
      const given = {
        masters: [`127.0.0.1:${port}`],
        user: 'test',
        pause: 10,
        retries: 1,
        operationTimeout: 20_000,
      };
      const engine = await connectHBase({ ...given, ...options });
      try {
        return await use(engine);
      } finally {
        await engine.close();
      }
    });
  } finally {
    child.kill('SIGTERM');
  }
  expect(await once(child, 'exit')).toEqual([0, null]);
}

type Engine = Awaited<ReturnType<typeof connectHBase>>;

/** The port that the server says it listens at. */
function portOf(child: ChildProcess): Promise<string> {
  let output = '';
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`rowan serve ended with code ${code}: ${output}`)));
    child.stdout!.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const port = / serves .* at \S+:(\d+)\n/.exec(output)?.[1];
      if (port !== undefined) resolve(port);
    });
  });
}

const put = (engine: Engine): Promise<void> => engine.table('t').put(new Put('r').addColumn('f', 'q', 'v'));
const read = async (engine: Engine): Promise<number> =>
  (await engine.table('t').get(new Get('r'))).cells.length;

test('--tls-*, --users, --read-only and --insecure do what they say', async () => {
  const tls = ['--tls-cert', path('server.pem'), '--tls-key', path('server.key')];
  const owner = secretAuthenticator('owner', OWNER);
  const trusting = { tls: { ca: content('server.pem') } };

  await serving(['--create', ...tls, '--users', path('users.json')], async (connect) => {
    await connect({ ...trusting, authenticator: owner }, async (engine) => {
      await engine.admin.createTable(tableDescriptor('t', { f: {} }));
      await put(engine);
    });
    await connect({ ...trusting, authenticator: secretAuthenticator('reader', READER) }, async (engine) => {
      expect(await read(engine)).toBe(1);
      await expect(put(engine)).rejects.toMatchObject({ code: 'ERR_SECURITY' });
    });
    const refused: readonly HBaseOptions[] = [
      { ...trusting, authenticator: secretAuthenticator('owner', READER) },
      { ...trusting, authenticator: secretAuthenticator('nobody', OWNER) },
      trusting,
    ];
    for (const options of refused)
      await expect(connect(options, read)).rejects.toMatchObject({ code: 'ERR_SECURITY' });
    // Another certificate than the one that is trusted, and no TLS at all.
    const wrong = { tls: { ca: content('stranger.pem') }, authenticator: owner };
    await expect(connect(wrong, read)).rejects.toThrow(/self-signed|certificate/);
    await expect(connect({ authenticator: owner }, read)).rejects.toMatchObject({ code: 'ERR_CONNECTION' });
  });

  const open = ['--listen', '0.0.0.0:0', '--announce', '127.0.0.1', '--insecure'];
  await serving(['--read-only', ...tls, '--tls-ca', path('client.pem'), ...open], async (connect) => {
    const own = (name: string): HBaseOptions => ({
      tls: { ...trusting.tls, cert: content(`${name}.pem`), key: content(`${name}.key`) },
    });
    await connect(own('client'), async (engine) => {
      expect(await read(engine)).toBe(1);
      const readOnly = expect.stringContaining('This server is read only (--read-only): it refuses writes.');
      await expect(put(engine)).rejects.toMatchObject({ message: readOnly, retryable: false });
      await expect(engine.admin.createTable(tableDescriptor('u', { f: {} }))).rejects.toMatchObject({
        message: readOnly,
      });
    });
    for (const options of [own('stranger'), trusting])
      await expect(connect(options, read)).rejects.toMatchObject({ code: 'ERR_CONNECTION' });
  });
});

test('command lines that cannot be meant end with a message and a code, and nothing is served', async () => {
  const { server, key } = { server: path('server.pem'), key: path('server.key') };
  const readable = path('readable.json');
  writeFileSync(readable, '{}');
  chmodSync(readable, 0o644);
  const noJson = path('no.json');
  writeFileSync(noJson, 'owner: secret', { mode: 0o600 });
  const short = path('short.json');
  writeFileSync(short, '{"owner":{"secret":"short"}}', { mode: 0o600 });
  const cases: readonly (readonly [args: readonly string[], code: number, message: RegExp])[] = [
    [['--tls-cert', server], 1, /--tls-cert and --tls-key require each other/],
    [['--tls-key', key], 1, /--tls-cert and --tls-key require each other/],
    [['--tls-ca', server], 1, /--tls-ca requires both/],
    [['--tls-cert', path('none.pem'), '--tls-key', key], 1, /ERR_IO: .*none\.pem cannot be read: ENOENT/],
    [['--tls-cert', server, '--tls-key', path('client.key')], 1, /key/],
    [['--users', path('none.json')], 1, /none\.json cannot be read/],
    [['--users', noJson], 1, /no\.json" is not JSON/],
    [['--users', short], 1, /secret/],
    ...(process.platform === 'win32'
      ? []
      : [[['--users', readable], 1, /other users can read it\. Run: chmod 600/] as const]),
    [['--listen', '0.0.0.0:0'], 1, /can be reached from other machines.*--insecure/],
    [['--listen', '0.0.0.0:0', '--users', path('users.json')], 1, /can be reached from other machines/],
    [['--listen', 'no port'], 1, /listen must be "host:port"/],
    [['--read-onyl'], 2, /unknown option '--read-onyl'/],
  ];
  for (const [args, code, message] of cases) {
    const answer = await run('serve', path('other'), '--create', '--listen', '127.0.0.1:0', ...args);
    expect(answer, args.join(' ')).toEqual({ code, out: '', err: expect.stringMatching(message) });
  }
  // It waits for signals before it opens the store.
  const listeners = process.listenerCount('SIGTERM');
  const { code, err } = await run('serve', key, '--create');
  expect([code, err]).toEqual([1, expect.stringMatching(/^rowan: ERR_\w+: .*server\.key/)]);
  expect(process.listenerCount('SIGTERM')).toBe(listeners);
  expect(await run('serve', path('missing'), '--read-only')).toEqual({
    code: 1,
    out: '',
    err: `rowan: ERR_NOT_A_STORE: There is no store in "${path('missing')}". Check the path, or begin a new store with --create.\n`,
  });
});
