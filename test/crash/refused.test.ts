import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toLatin1 } from '../../src/bytes/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import { Get, Put, tableDescriptor } from '../../src/table/index.js';

/** What a folder may be instead of a store, on the real disk: each is refused by name, and left as it was. */

let parent: string;
let store: string;

beforeEach(async () => {
  parent = fs.mkdtempSync(join(tmpdir(), 'rowan-refused-'));
  store = join(parent, 'db');
});

afterEach(() => fs.rmSync(parent, { recursive: true }));

const open = () => openEmbedded(store, { background: 'inline', flushOnClose: false });

/** A store with some rows in a file and some in the log. */
async function makeStore(): Promise<void> {
  const engine = await open();
  await engine.admin.createTable(tableDescriptor('t', { a: {} }));
  const table = engine.table('t');
  for (let n = 0; n < 50; n++) await table.put(new Put(`row${n}`).addColumn('a', 'v', `value ${n}`));
  await engine.admin.flush('t');
  for (let n = 50; n < 100; n++) await table.put(new Put(`row${n}`).addColumn('a', 'v', `value ${n}`));
  await engine.close();
}

async function expectWhole(): Promise<void> {
  const engine = await open();
  for (let n = 0; n < 100; n++) {
    const result = await engine.table('t').get(new Get(`row${n}`));
    expect(toLatin1(result.getValue('a', 'v')!)).toBe(`value ${n}`);
  }
  await engine.close();
}

function namesOf(directory: string): string[] {
  return fs.readdirSync(directory).sort();
}

describe('what is refused when a store is opened', () => {
  it('a store that is open already, in this process', async () => {
    await makeStore();
    const engine = await open();
    await expect(open()).rejects.toMatchObject({ code: 'ERR_LOCKED', details: { pid: process.pid } });
    await engine.close();
    await expectWhole();
  });

  it('a file', async () => {
    fs.writeFileSync(store, 'text');
    await expect(open()).rejects.toMatchObject({ code: 'ERR_NOT_A_STORE' });
    expect(fs.readFileSync(store, 'utf8')).toBe('text');
  });

  it('a folder with other things in it, which get no file of ours among them', async () => {
    fs.mkdirSync(store);
    fs.writeFileSync(join(store, 'notes.txt'), 'text');
    await expect(open()).rejects.toMatchObject({ code: 'ERR_NOT_A_STORE' });
    expect(namesOf(store)).toEqual(['notes.txt']);
  });

  it.each([
    ['MANIFEST', /^MANIFEST/],
    ['WAL segment', /\.wal$/],
    ['sorted file', /\.sst$/],
    ['CURRENT', /^CURRENT$/],
  ])(
    'a store whose %s was cut off, changed in one bit, or removed; and it opens when that is undone',
    async (_, pattern) => {
      await makeStore();
      const path = join(
        store,
        namesOf(store)
          .filter((name) => pattern.test(name))
          .at(-1)!,
      );
      const whole = fs.readFileSync(path);
      const damages: (Buffer | undefined)[] = [
        undefined,
        whole.subarray(0, -1),
        whole.subarray(0, whole.length >> 1),
        Buffer.alloc(0),
      ];
      for (const at of [0, whole.length >> 1, whole.length - 1]) {
        const flipped = Buffer.from(whole);
        flipped[at] = flipped[at]! ^ 4;
        damages.push(flipped);
      }
      for (const damage of damages) {
        const damaged = `${store}.damaged`;
        fs.rmSync(damaged, { recursive: true, force: true });
        fs.cpSync(store, damaged, { recursive: true });
        const target = join(damaged, path.slice(store.length));
        if (damage === undefined) fs.unlinkSync(target);
        else fs.writeFileSync(target, damage);
        const read = async (): Promise<void> => {
          const engine = await openEmbedded(damaged, { background: 'inline' });
          try {
            // A changed block of a sorted file shows itself when it is read.
            for (let n = 0; n < 100; n++) await engine.table('t').get(new Get(`row${n}`));
          } finally {
            await engine.close();
          }
        };
        await expect(read()).rejects.toMatchObject({ code: 'ERR_CORRUPTION', details: { file: target } });
        if (damage === undefined) fs.copyFileSync(path, target);
        else fs.writeFileSync(target, whole);
        await read();
      }
      await expectWhole();
    },
  );
});
