/** Work of a job that reads nothing: done once, and kept with its state. */

import type { JsonValue } from '../codec/index.js';
import { Scan } from '../table/index.js';
import type { JobPhase, JobReadable, SplitContext } from './types.js';

const NOTHING: JobReadable = {
  name: 'nothing',
  scan: () => ({
    next: async () => undefined,
    nextBatch: async () => [],
    close: async () => {},
    async *[Symbol.asyncIterator]() {},
  }),
};

/**
 * A phase of one split that does `work` and keeps what it answers. It is done again when it did not come to its end, and by one
 * worker at a time.
 */
export function onePhase(work: (context: SplitContext) => Promise<JsonValue> | JsonValue): JobPhase {
  return {
    table: NOTHING,
    ranges: [{ start: new Uint8Array(), stop: new Uint8Array() }],
    oneSplitEach: true,
    scan: () => new Scan(),
    open(context) {
      let kept = context.resumed;
      return {
        rows: () => {},
        async finish() {
          kept = await work(context);
        },
        commit: () => kept,
      };
    },
  };
}
