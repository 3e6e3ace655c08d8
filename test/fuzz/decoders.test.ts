/** What stands behind the checksums: decoders that are given damage whose checksum fits. */

import { describe, expect, it } from 'vitest';
import { crc32 } from '../../src/bytes/index.js';
import { RowanError } from '../../src/errors.js';
import { readWriteRecord, WriteRecordBuilder } from '../../src/store/commit/write-record.js';
import { checksumSeed, FOOTER_BYTES } from '../../src/store/file/block-frame.js';
import { SortedFileReader } from '../../src/store/file/sorted-file-reader.js';
import { verifySortedFile } from '../../src/store/file/verify-file.js';
import { decodeEdits, encodeEdits } from '../../src/store/manifest/edit.js';
import { formatCurrent, parseCurrent } from '../../src/store/manifest/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { seededRandom } from '../crash/seeded-random.js';
import { record } from '../proof/evidence.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import { cell } from '../store/file/cells.js';
import { context, FILE_NO, PATH, write } from '../store/file/fixture.js';
import { BEGINNING, fileEntry } from '../store/manifest/manifest-fixture.js';
import { mutate } from './mutate.js';

const RUNS = scaled(200, 4000, 1_000_000);
/** More than any of these inputs has use for. */
const MEMORY = 256 << 20;

const CODES = new Set(['ERR_CORRUPTION', 'ERR_FORMAT_VERSION', 'ERR_NOT_A_STORE']);

/** Tests of this file, which have the same share of its time. */
const TESTS = 4;
let begun = 0;

/**
 * Damages `whole` again and again. Returns which part of it was refused; anything but a typed error is a failure.
 */
function refusals(
  whole: Uint8Array,
  seed: number,
  damage: (bytes: Uint8Array, random: () => number) => Uint8Array,
  decode: (bytes: Uint8Array) => void,
): number {
  const random = seededRandom(seed);
  const part = ++begun / TESTS;
  let refused = 0;
  let run = 0;
  for (; run < RUNS && (run < 600 || mayGoOn(part)); run++) {
    const bad = damage(whole, random);
    const before = process.memoryUsage().arrayBuffers;
    try {
      decode(bad);
    } catch (error) {
      if (!(error instanceof RowanError) || !CODES.has(error.code))
        throw new Error(`run ${run}: ${String(error)}`, { cause: error });
      refused++;
    }
    const taken = process.memoryUsage().arrayBuffers - before;
    if (taken > MEMORY) throw new Error(`run ${run} took ${taken} bytes`);
  }
  record('decoders', { inputs: run });
  return refused / run;
}

describe('damage whose checksum fits', () => {
  it('in the record of a write is refused or read within its bounds', () => {
    const builder = new WriteRecordBuilder();
    for (let row = 0; row < 4; row++) {
      builder.beginMutation(row, Buffer.from(`row${row}`), 3);
      for (let i = 0; i < 3; i++)
        builder.cell(i, Buffer.from(`q${i}`), 1_700_000_000_000 + i, 4, i * 1000, new Uint8Array(20 * i));
    }
    const whole = builder.buffer.slice(0, builder.length);
    const cells = {
      cell: (..._cell: unknown[]) => {},
    };
    const refused = refusals(whole, 31, mutate, (bytes) => void readWriteRecord(bytes, cells));
    expect(refused).toBeGreaterThan(1 / 4);
  });

  it('in an edit of the MANIFEST is refused or read', () => {
    const edits = [
      ...BEGINNING,
      { type: 'fileAdd', region: 4, family: 2, file: fileEntry(10) } as const,
      { type: 'namespaceAdd', name: 'shop' } as const,
    ];
    const whole = encodeEdits(edits);
    const refused = refusals(whole, 32, mutate, (bytes) => void decodeEdits(bytes, '/MANIFEST', 0));
    expect(refused).toBeGreaterThan(1 / 4);
  });

  it('in CURRENT is refused or read', () => {
    const lines = Buffer.from(formatCurrent({ manifest: 77, length: 4096 })).subarray(0, -9);
    const seal = (bytes: Uint8Array, random: () => number): Uint8Array => {
      const bad = mutate(bytes, random);
      const check = crc32(bad, 0, bad.length).toString(16).padStart(8, '0');
      return Buffer.concat([bad, Buffer.from(`${check}\n`)]);
    };
    const refused = refusals(lines, 33, seal, (bytes) => {
      const { manifest, length } = parseCurrent(Buffer.from(bytes).toString('latin1'), '/CURRENT');
      expect(Number.isSafeInteger(manifest) && Number.isSafeInteger(length)).toBe(true);
    });
    expect(refused).toBeGreaterThan(1 / 2);
  });

  it('in the footer of a sorted file is refused, or the file passes verify', () => {
    const fs = new MemoryFileSystem();
    const cells = Array.from({ length: 60 }, (_, i) => cell(`row${100 + i}`, 'q', 5, `value ${i}`));
    write(fs, cells, { bloomFilter: 'ROWCOL', blockSize: 1024 });
    const whole = fs.contents(PATH).slice();
    const footer = whole.length - FOOTER_BYTES;
    const damage = (bytes: Uint8Array, random: () => number): Uint8Array => {
      const bad = bytes.slice();
      for (let changes = 1 + Math.floor(random() * 3); changes > 0; changes--)
        bad[footer + Math.floor(random() * 52)] = [0, 1, 127, 255, Math.floor(random() * 256)][
          Math.floor(random() * 5)
        ]!;
      const view = new DataView(bad.buffer);
      const written = Number(view.getBigUint64(footer + 40, true));
      view.setUint32(footer + 52, crc32(bad, footer, 52, checksumSeed(written, footer)), true);
      return bad;
    };
    const refused = refusals(whole, 34, damage, (bytes) => {
      const files = context();
      const handle = files.fs.create(PATH);
      handle.write(bytes, 0, bytes.length);
      handle.close();
      verifySortedFile(SortedFileReader.open(files, PATH, FILE_NO));
    });
    expect(refused).toBeGreaterThan(1 / 2);
  });
});
