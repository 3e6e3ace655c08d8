import { expect, it } from 'vitest';
import { toBytes, toHex } from '../../../src/bytes/index.js';
import { PreparedSegment, Wal } from '../../../src/store/wal/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { goldenBytes } from '../golden.js';
import { replay } from './wal-fixture.js';

it('WAL segments have the bytes that docs/formats.md shows', async () => {
  const files = new MemoryFileSystem();
  let mark = (): void => {};
  const wal = Wal.create(files, '/', 7, {
    whenIdle: (task) => {
      mark = task;
      return () => undefined;
    },
  });
  wal.append(300, 2, toBytes('hello'), 0, 5);
  await wal.sync();
  mark();
  await wal.switchTo(await PreparedSegment.create(files, '/', 8, { room: 64, shouldContinue: () => true }));
  expect(toHex(files.contents('/000007.wal'))).toBe(toHex(goldenBytes('wal')));
  wal.append(302, 1, toBytes('bye'), 0, 3);
  await wal.sync();
  expect(toHex(files.contents('/000008.wal'))).toBe(toHex(goldenBytes('wal-prepared')));
});

it('the bytes that docs/formats.md shows are read', () => {
  const files = new MemoryFileSystem();
  files.place('/000007.wal', goldenBytes('wal'));
  files.place('/000008.wal', goldenBytes('wal-prepared'));
  expect(replay(files, [{ number: 7 }, { number: 8 }])).toMatchObject({
    seen: [
      { firstSeq: 300, count: 2, payload: 'hello' },
      { firstSeq: 302, count: 1, payload: 'bye' },
    ],
    torn: undefined,
    closed: [
      { number: 7, length: 93, firstSeq: 300, lastSeq: 301 },
      { number: 8, length: 57, firstSeq: 302, lastSeq: 302 },
    ],
  });
});

it('a segment of version 1 is read, and what it never had is damage in it', () => {
  const bytes = goldenBytes('wal-1');
  const files = new MemoryFileSystem();
  files.place('/000007.wal', bytes);
  expect(replay(files, [{ number: 7 }], false)).toMatchObject({
    seen: [{ firstSeq: 300, count: 2, payload: 'hello' }],
    torn: undefined,
    closed: [{ number: 7, length: 76, firstSeq: 300, lastSeq: 301 }],
  });
  // An END behind it.
  files.place('/000007.wal', new Uint8Array([...bytes, ...goldenBytes('wal').subarray(76)]));
  expect(() => replay(files, [{ number: 7 }], false)).toThrow(/does not belong here/);
});
