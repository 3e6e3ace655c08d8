/** Commands on encrypted stores: their keys come from the environment. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openEmbedded } from '../../src/store/engine.js';
import { Put, tableDescriptor } from '../../src/table/index.js';
import { encryptedBy, filesBelow, keyOf } from '../store/encryption/keys.js';
import { run } from './run.js';

let root: string;
let store: string;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'rowan-'));
  store = join(root, 'store');
  await using engine = await openEmbedded(store, { background: 'inline', flushOnClose: false });
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  await engine.table('t').put(new Put('in a file').addColumn('f', 'q', 'secret'));
  await engine.admin.flush('t');
  await engine.table('t').put(new Put('in the log').addColumn('f', 'q', 'secret'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

const hex = (id: string): string => Buffer.from(keyOf(id)).toString('hex');
const keys = (...ids: string[]): string => ids.map((id) => `${id}=${hex(id)}`).join(',');

async function keyIds(): Promise<(string | undefined)[]> {
  const { out } = await run('store', 'keys', store, '--json');
  return (JSON.parse(out) as { keyId?: string }[]).map(({ keyId }) => keyId);
}

test('a store is encrypted, used, given another key and decrypted by commands', async () => {
  expect(await keyIds()).toEqual([undefined]);
  vi.stubEnv('ROWAN_ENCRYPTION_KEYS', keys('k1'));
  expect((await run('store', 'verify', store)).err).toMatch(/is not encrypted, though/);
  expect((await run('store', 'compact', store, '--encrypt')).code).toBe(0);
  expect(await keyIds()).toEqual(['k1']);
  expect([...filesBelow(store).values()].filter((bytes) => bytes.includes('secret'))).toEqual([]);
  for (const [args, expected] of [
    [['store', 'verify', store], /No damage found: 1 tables/],
    [['store', 'verify', store, '--threads', '2'], /No damage found: 1 tables/],
    [['store', 'stats', store], /│ t /],
    [['store', 'dump-wal', store], /records in/],
    [['count', store, 't'], /2/],
    [['store', 'repair', store], /The store is intact/],
    [['store', 'repair', '--clock', store], /is not ahead/],
    [['store', 'backup', store, join(root, 'backups')], /^0 000001/],
    [['backup', store, join(root, 'tables'), '--no-progress'], /rows\t2/],
  ] as const) {
    const { code, out, err } = await run(...args);
    expect(`${code} ${err}${out}`, args.join(' ')).toMatch(expected);
    expect(code, args.join(' ')).toBe(0);
  }
  const file = readdirSync(store).find((name) => name.endsWith('.sst'))!;
  expect((await run('store', 'dump-file', join(store, file))).out).toMatch(/value=secret/);
  vi.unstubAllEnvs();
  writeFileSync(join(root, 'keys'), `${keys('k2')}\n${keys('k1')}\n`);
  vi.stubEnv('ROWAN_ENCRYPTION_KEYS_FILE', join(root, 'keys'));
  expect((await run('store', 'compact', store)).code).toBe(0);
  expect(await keyIds()).toEqual(['k2']);
  expect((await run('store', 'compact', store, '--decrypt')).code).toBe(0);
  expect(await keyIds()).toEqual([undefined]);
  vi.unstubAllEnvs();
  expect((await run('count', store, 't')).out).toMatch(/2/);
});

test('without keys, or with malformed ones, a command says what is missing, and no key is shown', async () => {
  vi.stubEnv('ROWAN_ENCRYPTION_KEYS', keys('k1'));
  await run('store', 'compact', store, '--encrypt');
  vi.unstubAllEnvs();
  for (const args of [
    ['store', 'verify', store],
    ['store', 'dump-wal', store],
    ['store', 'repair', store],
    ['count', store, 't'],
  ]) {
    const { code, err } = await run(...args);
    expect(err, args.join(' ')).toMatch(/is encrypted with the key "k1".*ROWAN_ENCRYPTION_KEYS/s);
    expect(code).not.toBe(0);
  }
  expect((await run('store', 'compact', store, '--decrypt')).err).toMatch(/need the keys: set ROWAN_/);
  vi.stubEnv('ROWAN_ENCRYPTION_KEYS', `k1=${hex('k1').slice(1)}`);
  const { err } = await run('store', 'verify', store);
  expect(err).toMatch(/is a list of id=hex/);
  expect(err).not.toContain(hex('k1').slice(1, 20));
  vi.stubEnv('ROWAN_ENCRYPTION_KEYS', keys('k2'));
  expect((await run('store', 'verify', store)).err).toMatch(
    /The key "k1".*ROWAN_ENCRYPTION_KEYS has no key "k1"/s,
  );
});

test('a damaged encrypted store is repaired with its keys, and what is saved is encrypted', async () => {
  vi.stubEnv('ROWAN_ENCRYPTION_KEYS', keys('k1'));
  await run('store', 'compact', store, '--encrypt');
  {
    await using engine = await openEmbedded(store, { background: 'inline', ...encryptedBy('k1') });
    const puts = Array.from({ length: 4000 }, (_, n) =>
      new Put(`row${n}`).addColumn('f', 'q', `secret ${n} `.repeat(10)),
    );
    await engine.table('t').putAll(puts);
    await engine.admin.majorCompact('t');
  }
  const file = join(store, readdirSync(store).find((name) => name.endsWith('.sst'))!);
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(file, bytes);
  expect((await run('store', 'verify', store)).err).toMatch(/page \d+ is not as it was encrypted/);
  const { out } = await run('store', 'repair', store);
  expect(out).toMatch(/Saved \d+ cells/);
  const { out: counted } = await run('count', store, 't');
  expect(Number(/\d+/.exec(counted)![0])).toBeGreaterThan(1000);
  expect(await keyIds()).toEqual(['k1']);
  expect([...filesBelow(store).values()].filter((each) => each.includes('secret'))).toEqual([]);
});
