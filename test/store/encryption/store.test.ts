/** Encrypted stores: what is on the disk, which keys open them, and how a store gets encrypted, another key, or plain. */

import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { toLatin1 } from '../../../src/bytes/index.js';
import { restoreStore } from '../../../src/store/backup.js';
import { keysInUse } from '../../../src/store/encryption/encrypted-file-system.js';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import { NodeFileSystem } from '../../../src/store/fs/index.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import { openReadOnly } from '../../../src/store/read-only/read-only-store.js';
import { repairStore } from '../../../src/store/repair/repair.js';
import { repairStoreClock } from '../../../src/store/repair/repair-clock.js';
import { type Engine, Put, Scan, tableDescriptor } from '../../../src/table/index.js';
import { encryptedBy, filesBelow, keyOf } from './keys.js';

let root: string;
let path: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rowan-'));
  path = join(root, 'store');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Texts that are looked for in the files. */
const SECRETS = ['secretrow', 'secretqual', 'secretvalue', 'secrettable', 'sfamily'];
const TABLE = 'secrettable';
const INLINE: EmbeddedOptions = { background: 'inline', automatic: false, flushOnClose: false };

async function fill(engine: EmbeddedEngine, from: number, to: number): Promise<void> {
  const puts = Array.from({ length: to - from }, (_, i) =>
    new Put(`secretrow${String(from + i).padStart(5, '0')}`).addColumn(
      'sfamily',
      'secretqual',
      `secretvalue ${from + i} `.repeat(3),
    ),
  );
  await engine.table(TABLE).putAll(puts);
}

async function make(options: EmbeddedOptions, at = path): Promise<EmbeddedEngine> {
  const engine = await openEmbedded(at, options);
  await engine.admin.createTable(tableDescriptor(TABLE, { sfamily: { bloomFilter: 'ROWCOL' } }));
  await fill(engine, 0, 600);
  await engine.admin.flush(TABLE);
  await fill(engine, 600, 900);
  return engine;
}

async function rowsOf(engine: Engine): Promise<string> {
  let text = '';
  for await (const { row, cells } of engine.table(TABLE).scan(new Scan()))
    text += `${toLatin1(row)} ${toLatin1(cells[0]!.value)}\n`;
  return text;
}

async function rowsAt(options: EmbeddedOptions, at = path): Promise<string> {
  await using engine = await openEmbedded(at, { ...INLINE, createIfMissing: false, ...options });
  await engine.verify();
  return await rowsOf(engine);
}

/** The secrets that stand in files below a folder. */
function found(folder: string): string[] {
  const hits: string[] = [];
  for (const [name, bytes] of filesBelow(folder))
    for (const secret of SECRETS)
      if (bytes.includes(secret) || bytes.includes(Buffer.from(secret).toString('hex')))
        hits.push(`${secret} in ${name}`);
  return hits;
}

function keys(): Record<string, number> {
  return Object.fromEntries(
    keysInUse(new NodeFileSystem(), path).map(({ keyId, files }) => [keyId ?? 'plain', files]),
  );
}

describe('what is on the disk', () => {
  test.each(['worker', 'inline'] as const)(
    'no row, qualifier, value, table or family, in any file that is ever there (%s)',
    async (background) => {
      const engine = await make({ ...encryptedBy('k1'), background, maxFileSize: 1 << 20 });
      const copies: string[] = [];
      const keep = (name: string): void => {
        const copy = join(root, name);
        cpSync(path, copy, { recursive: true, filter: (file) => !file.endsWith('.sock') });
        copies.push(copy);
      };
      keep('running');
      await engine.checkpoint(join(root, 'checkpoint'));
      await engine.backup(join(root, 'backups'));
      await engine.admin.split(TABLE, Buffer.from('secretrow00300'));
      await engine.admin.majorCompact(TABLE);
      keep('compacted');
      expect((await rowsOf(engine)).split('\n')).toHaveLength(901);
      await engine.close();
      keep('closed');
      for (const folder of [...copies, join(root, 'checkpoint'), join(root, 'backups')]) {
        expect(filesBelow(folder).size).toBeGreaterThan(2);
        expect(found(folder)).toEqual([]);
      }
      // What was copied are whole stores.
      for (const copy of [...copies, join(root, 'checkpoint')])
        expect((await rowsAt(encryptedBy('k1'), copy)).split('\n')).toHaveLength(901);
      await restoreStore(join(root, 'backups'), join(root, 'restored'));
      expect((await rowsAt(encryptedBy('k1'), join(root, 'restored'))).split('\n')).toHaveLength(901);
    },
  );

  test('all of them stand in the files of a plain store', async () => {
    const engine = await make(INLINE);
    await engine.close();
    const hits = found(path).map((hit) => hit.split(' ')[0]);
    expect(new Set(hits)).toEqual(new Set(SECRETS));
  });
});

describe('a store that cannot be opened is left as it is', () => {
  let stores: string;
  beforeAll(async () => {
    stores = mkdtempSync(join(tmpdir(), 'rowan-'));
    const closed = join(stores, 'closed');
    const engine = await make({ ...INLINE, ...encryptedBy('k1') }, closed);
    cpSync(closed, join(stores, 'killed'), { recursive: true, filter: (file) => !file.endsWith('.sock') });
    await engine.close();
  });
  afterAll(() => rmSync(stores, { recursive: true }));

  const wrong = { encryption: { keyId: 'k1', key: () => keyOf('another') } };
  const missing = {
    encryption: {
      keyId: 'k2',
      key: (id: string) => {
        if (id !== 'k2') throw new Error(`no key ${id}`);
        return keyOf(id);
      },
    },
  };
  test.each([
    ['without keys', {}, /is encrypted with the key "k1".*ROWAN_ENCRYPTION_KEYS/s],
    ['with another key of that name', wrong, /encrypted with another key named "k1"/],
    ['with a callback that does not know the key', missing, /The key "k1".*could not be had: no key k1/],
  ])('%s', async (_, options: EmbeddedOptions, message) => {
    for (const end of ['closed', 'killed']) {
      cpSync(join(stores, end), path, { recursive: true });
      const before = new Map<string, Buffer>();
      for (const [name, bytes] of filesBelow(path)) if (name !== 'LOCK') before.set(name, bytes);
      const attempts = [
        () => openEmbedded(path, { ...INLINE, ...options }),
        () => openReadOnly(path, options.encryption ? { encryption: options.encryption } : {}),
        () => repairStore(path, undefined, options.encryption),
        () => repairStoreClock(path, undefined, undefined, options.encryption),
      ];
      for (const attempt of attempts) {
        const error = await attempt().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(error).toMatchObject({ code: 'ERR_ENCRYPTION', message: expect.stringMatching(message) });
      }
      const after = filesBelow(path);
      after.delete('LOCK');
      expect(after).toEqual(before);
      expect((await rowsAt(encryptedBy('k1'))).split('\n')).toHaveLength(901);
      rmSync(root, { recursive: true });
    }
  });

  test('plain files are refused with keys, unless they are accepted', async () => {
    const engine = await make(INLINE);
    await engine.close();
    const before = filesBelow(path);
    await expect(openEmbedded(path, { ...INLINE, ...encryptedBy('k1') })).rejects.toMatchObject({
      code: 'ERR_ENCRYPTION',
      message: expect.stringMatching(/is not encrypted, though.*acceptPlain: true/s),
    });
    expect(filesBelow(path)).toEqual(before);
  });

  test('a plain file that was put in the place of an encrypted one is refused', async () => {
    // The same writes, so that the file of the plain store has the length and the checksum that the MANIFEST names.
    let now = 1_000_000;
    const clock = (): number => now++;
    const twin = await make({ ...INLINE, clock });
    await twin.close();
    cpSync(path, `${path}.plain`, { recursive: true });
    rmSync(path, { recursive: true });
    now = 1_000_000;
    const engine = await make({ ...INLINE, clock, ...encryptedBy('k1') });
    await engine.close();
    const name = readdirSync(path).find((each) => each.endsWith('.sst'))!;
    cpSync(join(`${path}.plain`, name), join(path, name));
    await expect(rowsAt(encryptedBy('k1'))).rejects.toMatchObject({ code: 'ERR_ENCRYPTION' });
    // It would be read otherwise.
    expect(await rowsAt(encryptedBy('k1', { acceptPlain: true }))).toContain('secretvalue 599');
  });

  test.each([
    [{ keyId: 'k1' }, /"encryption" needs "key"/],
    [{ key: keyOf }, /"encryption" needs "keyId"/],
    [
      { keyId: 'k 1', key: keyOf },
      /"encryption.keyId" is a string of 3 characters; it takes null, or the id of a key/,
    ],
    // The errors have nothing of a key that stands in the wrong place.
    [
      { keyId: 'k1', key: new Uint8Array(32).fill(77) },
      /"encryption.key" is 32 bytes; it takes a function\.$/,
    ],
    [{ keyId: 'k1', key: Buffer.alloc(32, 77) }, /"encryption.key" is 32 bytes; it takes a function\.$/],
    ['7777'.repeat(8), /"encryption" is a string of 32 characters; it takes an object\.$/],
    [{ keyId: 'k1', key: () => new Uint8Array(16) }, /encryption.key gives 16 bytes for the key "k1"/],
    [{ keyId: 'k1', keys: {} }, /There is no option "encryption.keys"|"encryption" needs "key"/],
  ])('wrong options %#', async (encryption, message) => {
    await expect(openEmbedded(path, { encryption } as unknown as EmbeddedOptions)).rejects.toThrow(message);
  });
});

describe('another key, or none', () => {
  async function compact(options: EmbeddedOptions): Promise<void> {
    const engine = await openEmbedded(path, { ...INLINE, ...options });
    await engine.admin.majorCompact(TABLE);
    await engine.close();
  }

  test('a plain store gets encrypted by a compaction, another key, and plain again', async () => {
    const engine = await make(INLINE);
    await engine.close();
    const rows = await rowsAt({});
    expect(Object.keys(keys())).toEqual(['plain']);
    await compact(encryptedBy('k1', { acceptPlain: true }));
    expect(Object.keys(keys())).toEqual(['k1']);
    expect(found(path)).toEqual([]);
    expect(await rowsAt(encryptedBy('k1'))).toBe(rows);
    await compact(encryptedBy('k2'));
    expect(Object.keys(keys())).toEqual(['k2']);
    expect(
      await rowsAt({
        encryption: {
          keyId: 'k2',
          key: (id) => {
            if (id === 'k2') return keyOf(id);
            throw new Error('k1 was destroyed');
          },
        },
      }),
    ).toBe(rows);
    await compact(encryptedBy(null));
    expect(Object.keys(keys())).toEqual(['plain']);
    expect(await rowsAt({})).toBe(rows);
  });

  test('files of several keys are read together', async () => {
    const engine = await make({ ...INLINE, ...encryptedBy('k1') });
    await engine.close();
    const second = await openEmbedded(path, { ...INLINE, ...encryptedBy('k2') });
    await fill(second, 900, 1000);
    await second.admin.flush(TABLE);
    await fill(second, 1000, 1010);
    await second.close();
    expect(Object.keys(keys()).sort()).toEqual(['k1', 'k2']);
    expect((await rowsAt(encryptedBy('k3'))).split('\n')).toHaveLength(1011);
  });

  test('a reader beside the writer follows it to another key', async () => {
    const first = await make({ ...INLINE, ...encryptedBy('k1') });
    const asked: string[] = [];
    const key = (id: string): Uint8Array => {
      asked.push(id);
      return keyOf(id);
    };
    const reader = await openReadOnly(path, { encryption: { keyId: 'k1', key } });
    expect((await rowsOf(reader)).split('\n')).toHaveLength(901);
    await fill(first, 900, 950);
    await reader.refresh();
    expect((await rowsOf(reader)).split('\n')).toHaveLength(951);
    await first.close();
    const second = await openEmbedded(path, { ...INLINE, ...encryptedBy('k2') });
    await fill(second, 950, 1000);
    await reader.refresh();
    expect((await rowsOf(reader)).split('\n')).toHaveLength(1001);
    await second.admin.majorCompact(TABLE);
    await fill(second, 1000, 1001);
    await reader.refresh();
    expect((await rowsOf(reader)).split('\n')).toHaveLength(1002);
    expect(new Set(asked)).toEqual(new Set(['k1', 'k2']));
    await reader.close();
    await second.close();
  });
});
