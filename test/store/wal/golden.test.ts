import { expect, it } from 'vitest';
import { toBytes, toHex } from '../../../src/bytes/index.js';
import { Wal } from '../../../src/store/wal/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { goldenBytes } from '../golden.js';
import { replay } from './wal-fixture.js';

it('a WAL segment has the bytes that docs/formats.md shows', async () => {
  const files = new MemoryFileSystem();
  let mark = (): void => {};
  const wal = Wal.create(files, '/', 7, {
    whenIdle: (task) => {
      mark = task;
    },
  });
  wal.append(300, 2, toBytes('hello'), 0, 5);
  await wal.sync();
  mark();
  expect(toHex(files.contents('/000007.wal'))).toBe(toHex(goldenBytes('wal')));
});

it('the bytes that docs/formats.md shows are read', () => {
  const files = new MemoryFileSystem();
  files.place('/000007.wal', goldenBytes('wal'));
  expect(replay(files, [{ number: 7 }])).toMatchObject({
    seen: [{ firstSeq: 300, count: 2, payload: 'hello' }],
    torn: undefined,
    closed: { number: 7, length: 76, firstSeq: 300, lastSeq: 301 },
  });
});
