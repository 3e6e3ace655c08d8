/** The bytes of encrypted files, read by an implementation of their own: docs/formats.md, "Encrypted files". */

import { createDecipheriv, hkdfSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptionError } from '../../../src/errors.js';
import { EncryptedFileSystem } from '../../../src/store/encryption/encrypted-file-system.js';
import { FileCipher, LogCipher, StoreKeys } from '../../../src/store/encryption/keys.js';
import { ChunkReader, createLog, readLog, WAL_KIND } from '../../../src/store/logfile/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';
import { goldenBytes } from '../golden.js';
import { encryptedBy, keyOf } from './keys.js';

async function filesOf(keyId = 'k1', disk = new MemoryFileSystem()): Promise<EncryptedFileSystem> {
  const keys = StoreKeys.of(encryptedBy(keyId).encryption);
  await keys.load('k1');
  await keys.loadCurrent();
  const files = new EncryptedFileSystem(disk, keys);
  files.mkdir('/s');
  return files;
}

function write(files: EncryptedFileSystem, path: string, ...pieces: readonly Uint8Array[]): void {
  const file = files.create(path);
  for (const piece of pieces) {
    const padded = Buffer.concat([Buffer.from('xx'), piece, Buffer.from('yy')]);
    file.write(padded, 2, piece.length);
  }
  file.complete?.();
  file.sync();
  file.close();
}

function read(files: EncryptedFileSystem, path: string): Buffer {
  const file = files.openRead(path);
  try {
    const bytes = Buffer.alloc(file.size);
    expect(file.read(bytes, 0, bytes.length, 0)).toBe(bytes.length);
    return bytes;
  } finally {
    file.close();
  }
}

const contents = (files: EncryptedFileSystem, path: string): Uint8Array =>
  (files.disk as MemoryFileSystem).contents(path);

const numbered = (length: number): Buffer =>
  Buffer.from(Array.from({ length }, (_, i) => (i * 7 + (i >> 8)) & 255));

/** By the page alone. `use`: KIND/NUMBER, or head. */
function derivedKey(head: Buffer, use: string): Buffer {
  expect(head[0]).toBe(1);
  const id = head.toString('latin1', 2, 2 + head[1]!);
  return Buffer.from(hkdfSync('sha256', keyOf(id), head.subarray(66, 98), `rowan-orm/1/${use}`, 32));
}

function opened(key: Buffer, nonce: Buffer, about: Buffer, text: Buffer, tag: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: 16 });
  decipher.setAAD(about);
  decipher.setAuthTag(tag);
  return Buffer.concat([decipher.update(text), decipher.final()]);
}

function nonce(low: number, high: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUIntLE(low, 0, 6);
  bytes.writeUInt32LE(high, 8);
  return bytes;
}

describe('encrypted sorted files', () => {
  test('read ahead the pages that a read of the same range reads', async () => {
    const files = await filesOf();
    write(files, '/s/000007.sst', numbered(5 * 4096 + 100));
    const ranges: Record<'read' | 'ahead', number[][]> = { read: [], ahead: [] };
    const openDisk = files.disk.openRead.bind(files.disk);
    files.disk.openRead = (path) => {
      const handle = openDisk(path);
      const readDisk = handle.read.bind(handle);
      handle.read = (buffer, offset, length, position) => {
        ranges.read.push([position, length]);
        return readDisk(buffer, offset, length, position);
      };
      handle.readAhead = async (position, length) => void ranges.ahead.push([position, length]);
      return handle;
    };
    const file = files.openRead('/s/000007.sst');
    ranges.read.length = 0;
    for (const [position, length] of [
      [0, 10],
      [4095, 2],
      [4096, 4096],
      [9000, 9000],
      [20_480, 4096],
      [30_000, 1],
    ] as const) {
      await file.readAhead?.(position, length);
      file.read(Buffer.alloc(length), 0, length, position);
    }
    expect(ranges.read).toHaveLength(5);
    expect(ranges.ahead).toEqual(ranges.read);
    file.close();
  });

  test('the bytes are those of the page', async () => {
    const files = await filesOf();
    const text = numbered(4096 + 4096 + 100);
    write(files, '/s/000007.sst', text);
    const bytes = Buffer.from(contents(files, '/s/000007.sst'));
    expect(bytes.toString('latin1', 0, 8)).toBe('ROWANENC');
    expect(bytes.readUInt16LE(8)).toBe(1);
    const head = bytes.subarray(10, 124);
    const key = derivedKey(head, 'ROWANENC/7');
    expect(
      opened(
        derivedKey(head, 'head'),
        Buffer.alloc(12, 255),
        head.subarray(0, 98),
        Buffer.alloc(0),
        head.subarray(98),
      ),
    ).toHaveLength(0);
    let plain = Buffer.alloc(0);
    for (let page = 0; page < 3; page++) {
      const from = 128 + page * 4112;
      const to = Math.min(from + 4112, bytes.length);
      const part = opened(
        key,
        nonce(page, page === 2 ? 1 : 0),
        Buffer.alloc(0),
        bytes.subarray(from, to - 16),
        bytes.subarray(to - 16, to),
      );
      plain = Buffer.concat([plain, part]);
    }
    expect(plain).toEqual(text);
  });

  test('the example of the page is read', async () => {
    const files = await filesOf();
    const raw = files.disk.create('/s/000007.sst');
    const bytes = goldenBytes('sealed-file');
    raw.write(bytes, 0, bytes.length);
    raw.close();
    expect(read(files, '/s/000007.sst').toString()).toBe('hello');
    expect(files.fileSize('/s/000007.sst')).toBe(5);
  });

  test('any range of any file is what was written', async () => {
    const disk = await filesOf();
    let number = 1;
    fc.assert(
      fc.property(
        fc
          .array(fc.nat(9000), { minLength: 1, maxLength: 5 })
          .filter((sizes) => sizes.some((size) => size > 0)),
        fc.nat(30_000),
        fc.nat(30_000),
        (sizes, position, length) => {
          const path = `/s/${String(++number).padStart(6, '0')}.sst`;
          const text = numbered(sizes.reduce((sum, size) => sum + size, 0));
          const starts = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + size, 0));
          const pieces = sizes.map((size, i) => text.subarray(starts[i]!, starts[i]! + size));
          write(disk, path, ...pieces);
          expect(disk.fileSize(path)).toBe(text.length);
          const file = disk.openRead(path);
          const into = Buffer.alloc(length + 3, 9);
          const count = file.read(into, 1, length, position);
          file.close();
          const expected = text.subarray(position, position + length);
          expect(count).toBe(expected.length);
          expect(into.subarray(1, 1 + count)).toEqual(expected);
          expect(into[0]).toBe(9);
          expect(into[1 + count]).toBe(9);
        },
      ),
      { numRuns: scaled(15, 60, 600) },
    );
  });

  test('pages that were exchanged, cut off or are of another file are damage', async () => {
    const files = await filesOf();
    const text = numbered(4 * 4096);
    write(files, '/s/000007.sst', text);
    write(files, '/s/000008.sst', text);
    const whole = Buffer.from(contents(files, '/s/000007.sst'));
    const page = (n: number): [number, number] => [128 + n * 4112, 128 + (n + 1) * 4112];
    const exchanged = Buffer.from(whole);
    whole.copy(exchanged, page(1)[0], ...page(2));
    whole.copy(exchanged, page(2)[0], ...page(1));
    const others = Buffer.from(whole);
    Buffer.from(contents(files, '/s/000008.sst')).copy(others, page(1)[0], ...page(1));
    const cut = whole.subarray(0, page(3)[0]);
    const longer = Buffer.concat([whole, whole.subarray(...page(3))]);
    for (const [at, bad] of [exchanged, others, cut, longer].entries()) {
      const path = `/s/${String(20 + at).padStart(6, '0')}.sst`;
      const as = `/s/000007.sst`;
      files.unlink(as);
      const raw = files.disk.create(as);
      raw.write(bad, 0, bad.length);
      raw.close();
      expect(() => read(files, as), path).toThrow(CorruptionError);
    }
    // All of another file.
    files.unlink('/s/000007.sst');
    files.link('/s/000008.sst', '/s/000007.sst');
    expect(() => read(files, '/s/000007.sst')).toThrow(CorruptionError);
  });

  test('every changed bit is damage', async () => {
    const files = await filesOf();
    const text = numbered(4096 + 40);
    write(files, '/s/000007.sst', text);
    const bytes = contents(files, '/s/000007.sst');
    for (let at = 0; at < bytes.length; at += at < 140 ? 1 : 61) {
      bytes[at]! ^= 1 << (at % 8);
      expect(() => read(files, '/s/000007.sst'), `byte ${at}`).toThrow(CorruptionError);
      bytes[at]! ^= 1 << (at % 8);
    }
    expect(read(files, '/s/000007.sst')).toEqual(text);
  });
});

describe('encrypted logs', () => {
  const record = (text: string): [Uint8Array, Uint8Array, number, number] => [
    Buffer.from('<'),
    Buffer.from(`..${text}..`),
    2,
    text.length,
  ];
  const texts = (reader: ChunkReader): string[] => {
    const found: string[] = [];
    while (reader.next())
      found.push(
        Buffer.from(reader.payload.subarray(reader.offset, reader.offset + reader.length)).toString(),
      );
    expect(reader.broken).toBeUndefined();
    return found;
  };

  test('the bytes are those of the page', async () => {
    const files = await filesOf();
    const writer = createLog(files, '/s/000007.wal', WAL_KIND, 7, 65536);
    writer.append(...record('hello'));
    writer.sync();
    const bytes = Buffer.from(contents(files, '/s/000007.wal'));
    expect(bytes.readUInt16LE(17 + 8)).toBe(3);
    const key = derivedKey(bytes.subarray(27, 141), 'ROWANWAL/7');
    const sealed = bytes.subarray(141 + 17);
    const about = Buffer.alloc(8);
    about.writeUIntLE(141, 0, 6);
    const counter = nonce(sealed.readUIntLE(0, 6), 0);
    expect(opened(key, counter, about, sealed.subarray(6, -16), sealed.subarray(-16)).toString()).toBe(
      '<hello',
    );
  });

  test('the example of the page is read', async () => {
    const files = await filesOf();
    const bytes = goldenBytes('sealed-wal');
    expect(texts(new ChunkReader(bytes, WAL_KIND, 7, '/log', files.encryption))).toEqual(['hello']);
  });

  test('records of any length, over blocks, are read, all at once and further on', async () => {
    const files = await filesOf();
    const writer = createLog(files, '/s/000007.wal', WAL_KIND, 7, 65536);
    const written = [1, 100, 32_000, 700, 32_768, 5, 100_000, 32_700, 10].map((length, i) =>
      `${i}`.repeat(length),
    );
    const ends: number[] = [];
    for (const text of written) {
      writer.append(...record(text));
      writer.flush();
      ends.push(writer.writtenLength);
    }
    const bytes = readLog(files, '/s/000007.wal');
    const whole = new ChunkReader(bytes, WAL_KIND, 7, '/log', files.encryption);
    expect(texts(whole)).toEqual(written.map((text) => `<${text}`));
    for (const [n, end] of ends.entries()) {
      const from = end - (end % 32_768);
      const rest = ChunkReader.resumed(bytes.subarray(from), end, WAL_KIND, 7, '/log', whole.cipher);
      expect(texts(rest)).toEqual(written.slice(n + 1).map((text) => `<${text}`));
    }
  });

  test('no nonce is used twice, not even at the place of a record whose write failed', async () => {
    let full = false;
    const disk = new MemoryFileSystem();
    const files = await filesOf('k1', disk);
    const writer = createLog(files, '/s/000007.wal', WAL_KIND, 7, 65536);
    const { file } = writer;
    const write = file.write.bind(file);
    file.write = (...given) => {
      if (full) throw new Error('full');
      write(...given);
    };
    full = true;
    writer.append(...record('lost'));
    expect(() => writer.flush()).toThrow('full');
    full = false;
    writer.append(...record('kept'));
    writer.append(...record('more'));
    writer.flush();
    const bytes = Buffer.from(contents(files, '/s/000007.wal'));
    const second = 141 + 17 + 22 + 5;
    expect(bytes.readUIntLE(141 + 17, 6)).toBe(1);
    expect(bytes.readUIntLE(second + 17, 6)).toBe(2);
    expect(texts(new ChunkReader(bytes, WAL_KIND, 7, '/log', files.encryption))).toEqual(['<kept', '<more']);
  });

  test('a record at another place, or changed with a right checksum, is damage', () => {
    const cipher = new LogCipher(new FileCipher(keyOf('file')));
    const sealed = cipher.seal(141, Buffer.from('<'), Buffer.from('text'));
    expect(Buffer.from(cipher.open(141, sealed)!).toString()).toBe('<text');
    expect(cipher.open(142, sealed)).toBeUndefined();
    for (let at = 0; at < sealed.length; at++) {
      const bad = Uint8Array.from(sealed);
      bad[at]! ^= 1;
      expect(cipher.open(141, bad), `byte ${at}`).toBeUndefined();
    }
    expect(cipher.open(141, sealed.subarray(0, 10))).toBeUndefined();
  });

  test('files of equal contents have nothing in common', async () => {
    const files = await filesOf();
    for (const path of ['/s/000007.sst', '/s/000008.sst']) write(files, path, numbered(5000));
    const [a, b] = [contents(files, '/s/000007.sst'), contents(files, '/s/000008.sst')];
    let same = 0;
    for (let at = 128; at < a.length; at++) if (a[at] === b[at]) same++;
    expect(same).toBeLessThan(100);
  });
});
