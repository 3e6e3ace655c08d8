import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type BlockCodec,
  CODEC_IDS,
  compressionOfId,
  prepareCodecs,
  preparedCodec,
} from '../../src/compression/index.js';
import { ZstdCodec } from '../../src/compression/packaged-codecs.js';
import { nativeZstd, wasmZstd } from '../../src/compression/registry.js';
import { COMPRESSIONS } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { samples } from './samples.js';

const CODECS = COMPRESSIONS.filter((name) => name !== 'NONE');

beforeAll(() => prepareCodecs(CODECS));

const codecOf = (name: (typeof CODECS)[number]): BlockCodec => preparedCodec(name)!;

/** What `decompress` does: the bytes, or the code of its error. */
function outcome(codec: BlockCodec, bytes: Uint8Array, rawLength: number): string {
  try {
    return Buffer.from(codec.decompress(bytes, 0, bytes.length, rawLength)).toString('latin1');
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** Bytes with runs and repetitions, which compress. */
const compressible = fc
  .array(fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 40 })), {
    maxLength: 40,
  })
  .map((parts) => new Uint8Array(Buffer.concat(parts.flatMap(([bytes, times]) => Array(times).fill(bytes)))));

describe.each(CODECS)('the codec %s', (name) => {
  test('gives back every sample, from the middle of a buffer', () => {
    const codec = codecOf(name);
    for (const { name: sample, bytes } of samples()) {
      const source = new Uint8Array(bytes.length + 10);
      source.set(bytes, 5);
      const compressed = codec.compress(source, 5, bytes.length);
      const padded = new Uint8Array(compressed.length + 7);
      padded.set(compressed, 4);
      const raw = codec.decompress(padded, 4, compressed.length, bytes.length);
      expect(latin1(raw) === latin1(bytes), sample).toBe(true);
      expect(Object.getPrototypeOf(raw)).toBe(Uint8Array.prototype);
    }
  });

  test('gives back any bytes', () => {
    const codec = codecOf(name);
    fc.assert(
      fc.property(fc.oneof(compressible, fc.uint8Array({ maxLength: 300 })), (bytes) => {
        const compressed = codec.compress(bytes, 0, bytes.length);
        expect(latin1(codec.decompress(compressed, 0, compressed.length, bytes.length))).toBe(latin1(bytes));
      }),
    );
  });

  test('makes text smaller', () => {
    const bytes = samples().find((sample) => sample.name === 'json')!.bytes;
    expect(codecOf(name).compress(bytes, 0, bytes.length).length).toBeLessThan(bytes.length / 2);
  });

  test('answers damaged, cut and invented bytes with a corruption error or as many bytes as were asked for', () => {
    const codec = codecOf(name);
    fc.assert(
      fc.property(
        compressible,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
        fc.nat(),
        fc.constantFrom(-1, 0, 1, 1000),
        (bytes, changes, cut, more) => {
          const damaged = codec.compress(bytes, 0, bytes.length).slice();
          for (const [at, value] of changes) damaged[at % damaged.length] = value;
          const length = changes.length === 0 ? cut % damaged.length : damaged.length;
          const rawLength = Math.max(0, bytes.length + more);
          const result = outcome(codec, damaged.subarray(0, length), rawLength);
          if (result !== 'ERR_CORRUPTION') expect(result.length).toBe(rawLength);
        },
      ),
      { numRuns: scaled(150, 400, 4000) },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(5000), (bytes, rawLength) => {
        const result = outcome(codec, bytes, rawLength);
        if (result !== 'ERR_CORRUPTION') expect(result.length).toBe(rawLength);
      }),
      { numRuns: scaled(150, 400, 4000) },
    );
  });

  test('refuses another length than that of the bytes', () => {
    const codec = codecOf(name);
    const bytes = new Uint8Array(Buffer.from('the same again, the same again, the same again'));
    const compressed = codec.compress(bytes, 0, bytes.length);
    for (const wrong of [0, 1, bytes.length - 1, bytes.length + 1, 2 * bytes.length])
      expect(outcome(codec, compressed, wrong)).toBe('ERR_CORRUPTION');
  });

  test('allocates nothing for a length that its bytes cannot stand for', () => {
    const codec = codecOf(name);
    const compressed = codec.compress(new Uint8Array(10), 0, 10);
    const before = process.memoryUsage();
    for (const huge of [0x3fffffff, 0x40000000, 0xffffffff])
      expect(outcome(codec, compressed, huge)).toBe('ERR_CORRUPTION');
    const after = process.memoryUsage();
    expect(after.arrayBuffers + after.external - before.arrayBuffers - before.external).toBeLessThan(1 << 24);
  });
});

test('liblzo2 wrote the golden blocks that our LZO reads', () => {
  interface Golden {
    name: string;
    length: number;
    sha256: string;
    level1: string;
    level9: string;
  }
  const golden = JSON.parse(readFileSync(new URL('lzo-golden.json', import.meta.url), 'utf8')) as Golden[];
  expect(golden.length).toBeGreaterThan(50);
  for (const { name, length, sha256, level1, level9 } of golden) {
    for (const stream of [level1, level9]) {
      const compressed = new Uint8Array(Buffer.from(stream, 'hex'));
      const raw = codecOf('LZO').decompress(compressed, 0, compressed.length, length);
      expect(createHash('sha256').update(raw).digest('hex'), name).toBe(sha256);
    }
  }
});

test('zstd of Node and of the package read each other', async () => {
  const wasm = new ZstdCodec(await wasmZstd());
  const native = nativeZstd();
  const others = native ? [wasm, new ZstdCodec(native)] : [wasm];
  // A frame put together by hand from RFC 8878: its size in a byte, one raw block, "hello".
  const frame = new Uint8Array(Buffer.from('28b52ffd200529000068656c6c6f', 'hex'));
  for (const codec of others) {
    expect(outcome(codec, frame, 5)).toBe('hello');
    expect(outcome(codec, frame.subarray(0, 9), 5)).toBe('ERR_CORRUPTION');
  }
  for (const from of others)
    for (const to of others)
      for (const { bytes } of samples()) {
        const compressed = from.compress(bytes, 0, bytes.length);
        expect(outcome(to, compressed, bytes.length) === latin1(bytes)).toBe(true);
      }
});

test('codes of codecs are those of the format', () => {
  expect(CODEC_IDS).toEqual({ NONE: 0, GZ: 1, SNAPPY: 2, LZ4: 3, ZSTD: 4, BROTLI: 5, LZO: 6 });
  for (const name of COMPRESSIONS) expect(compressionOfId(CODEC_IDS[name])).toBe(name);
  expect(compressionOfId(7)).toBeUndefined();
  expect(preparedCodec('NONE')).toBeUndefined();
});

describe('a codec that is not there', () => {
  test('is refused when its package is missing, with what to install', async () => {
    vi.resetModules();
    vi.doMock('snappy', () => {
      throw new Error('Cannot find package');
    });
    const registry = await import('../../src/compression/registry.js');
    await expect(registry.prepareCodecs(['GZ', 'SNAPPY'])).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED',
      message: expect.stringContaining('npm install snappy'),
      details: { codec: 'SNAPPY', package: 'snappy' },
    });
    vi.doUnmock('snappy');
  });

  test('is refused when it was not prepared', async () => {
    vi.resetModules();
    const registry = await import('../../src/compression/registry.js');
    expect(() => registry.preparedCodec('GZ')).toThrow(expect.objectContaining({ code: 'ERR_UNSUPPORTED' }));
  });
});
