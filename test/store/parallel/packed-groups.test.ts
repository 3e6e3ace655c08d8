import { expect, test } from 'vitest';
import { toHex } from '../../../src/bytes/index.js';
import { GroupPacker } from '../../../src/store/parallel/packed-groups.js';
import { RawRow } from '../../../src/table/index.js';

const column = (name: string): { family: string; qualifier: Uint8Array } => ({
  family: 'f',
  qualifier: Buffer.from(name),
});

test('each row has the group of its bytes and its values, however many groups there are; rows of one column are skipped', () => {
  const by = [column('a'), column('c')];
  const packer = new GroupPacker({ by, values: [column('b'), column('c')], alone: column('s') });
  const raw = new RawRow();
  const expected: string[] = [];
  const found: string[] = [];
  const take = (): void => {
    const { rows, groups, keyLengths, keys, groupOf, lengths, bytes } = packer.take();
    const texts = (all: Int32Array, of: Uint8Array): string[] => {
      let at = 0;
      return Array.from(all, (length) => {
        const start = at;
        at += Math.max(0, length);
        return length < 0 ? '-' : toHex(of.subarray(start, at));
      });
    };
    const [ofKeys, ofValues] = [texts(keyLengths, keys), texts(lengths, bytes)];
    const names = Array.from({ length: groups }, (_, i) => ofKeys.slice(2 * i, 2 * i + 2).join());
    expect(new Set(names).size).toBe(groups);
    for (let i = 0; i < rows; i++)
      found.push(`${names[groupOf[i]!]} ${ofValues.slice(2 * i, 2 * i + 2).join()}`);
  };
  for (let i = 0; i < 40_000; i++) {
    // Absent, empty and equal texts that are divided otherwise, among many that differ.
    const some = i % 3 === 0 ? ['', 'x', 'xx', undefined] : [`${i}`, `${i % 300}`, 'x', undefined];
    const cells = { a: some[i % 4], b: `${i}`.slice(-2), c: some[(i >> 2) % 4] };
    raw.begin(Uint8Array.of(i));
    for (const [name, text] of Object.entries(cells)) {
      if (text === undefined) continue;
      const value = Buffer.from(text);
      raw.add('f', Buffer.from(name), 1, value, 0, value.length);
    }
    packer.add(raw);
    const texts = [cells.a, cells.c, cells.b, cells.c];
    const [a, c, b, again] = texts.map((text) => (text === undefined ? '-' : toHex(Buffer.from(text))));
    expected.push(`${a},${c} ${b},${again}`);
    if (i % 1000 === 0) {
      raw.begin(Uint8Array.of(1));
      raw.add('f', Buffer.from('s'), 1, Uint8Array.of(1), 0, 1);
      packer.add(raw);
    }
    if (packer.isFull) take();
  }
  take();
  expect(packer.isEmpty).toBe(true);
  expect(found).toEqual(expected);
});
