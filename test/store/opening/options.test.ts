import { describe, expect, it } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import { type EmbeddedOptions, storeSettings } from '../../../src/store/options.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';

const WRONG: Record<string, unknown[]> = {
  createIfMissing: [1, 'no'],
  clock: [5, null],
  random: ['x'],
  durability: ['USE_DEFAULT', 'fsync', 1],
  background: ['thread', true],
  memstoreFlushSize: [Number.NaN, -1, 0, 1.5, '1', 2 ** 40],
  memstoreLimit: [Number.NaN, -5, Number.POSITIVE_INFINITY],
  blockCacheSize: [-1, Number.NaN],
  maxOpenFiles: [0, -1, Number.NaN],
  maxFileSize: [0, Number.NaN],
  walSegmentSize: [0, 8 * 2 ** 30, Number.NaN],
  maxWalSegments: [0, Number.NaN],
  compaction: [3, { minFiles: 0 }, { ratio: Number.NaN }, { minFile: 3 }, { minFiles: 20 }],
  timeToPurgeDeletes: [-1, Number.NaN],
  automatic: ['yes', 0],
  flushOnClose: ['yes', { minBytes: -1 }, { seconds: 3 }],
  onEvent: [{}],
};

describe('the options of an embedded store', () => {
  it('are each held to what they take, by name', () => {
    for (const [name, values] of Object.entries(WRONG)) {
      for (const value of values) {
        const options = { [name]: value } as EmbeddedOptions;
        expect(() => storeSettings(options), `${name} ${String(value)}`).toThrow(
          expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT', message: expect.stringContaining(name) }),
        );
      }
    }
    expect(storeSettings({ blockCacheSize: undefined } as unknown as EmbeddedOptions).blockCacheSize).toBe(
      128 << 20,
    );
  });

  it('are refused when there is none of the name, before anything is made', async () => {
    const fileSystem = new MemoryFileSystem();
    const options = { fileSystem, memstoreFlushsize: 5 } as EmbeddedOptions;
    await expect(openEmbedded('/db', options)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message: expect.stringContaining('memstoreFlushSize'),
    });
    expect(fileSystem.exists('/db')).toBe(false);
    await expect(openEmbedded('/db', { fileSystem, createIfMissing: false })).rejects.toMatchObject({
      code: 'ERR_NOT_A_STORE',
    });
    expect(fileSystem.exists('/db')).toBe(false);
  });
});
