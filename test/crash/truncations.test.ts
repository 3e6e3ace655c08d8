import { describe, expect, it } from 'vitest';
import { RowanError } from '../../src/errors.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { imageOf } from './image.js';
import { makeStore, open, readAll } from './sample-store.js';
import { STORE } from './workload.js';

/** Every how many lengths are tried of each file. */
const STRIDE = scaled(311, 97, 1);

describe.each([
  ['a store that was closed', true],
  ['a store whose process died', false],
] as const)('%s, with one file cut off', (_, closed) => {
  it('is refused and left as it is, or opens with all that it held; a log that was open may end early', async () => {
    const store = await makeStore(closed);
    const copy = () => store.crash({ keepUnsynced: 1, random: () => 0 });
    const engine = await open(copy());
    const expected = await readAll(engine);
    await engine.close();
    let cuts = 0;
    for (const name of store.readdir(STORE).filter((each) => each !== 'LOCK')) {
      const path = `${STORE}/${name}`;
      const whole = store.contents(path).slice();
      for (let length = 0; length < whole.length; length += STRIDE) {
        const files = copy();
        files.place(path, whole.subarray(0, length));
        const before = imageOf(files);
        cuts++;
        const mayEndEarly = !closed && name.endsWith('.wal');
        try {
          const damaged = await open(files);
          const found = await readAll(damaged);
          await damaged.close();
          if (mayEndEarly ? !expected.startsWith(found.slice(0, 20)) : found !== expected)
            throw new Error(`${name} cut to ${length} of ${whole.length} opened with other data`);
        } catch (error) {
          if (!(error instanceof RowanError)) throw error;
          expect(error.code, `${name} cut to ${length}`).toBe('ERR_CORRUPTION');
          expect(imageOf(files), `${name} cut to ${length}: the store was changed`).toBe(before);
        }
        expect(files.openHandles).toBe(0);
      }
    }
    expect(cuts).toBeGreaterThan(50);
    record('truncations', { cuts });
  });
});
