import { describe, expect, it } from 'vitest';
import { type EngineUnderTest, TestClock } from '../harness.js';
import { loadRecordedGroups } from './load.js';
import { replayGroup } from './replay.js';

/** Replays the sequences that were recorded from HBase 2.6.4, or of `every` groups one, `most` of each: all answers must be the same. */
export function describeVectors(
  engineUnderTest: EngineUnderTest,
  every = 1,
  most = Number.POSITIVE_INFINITY,
): void {
  describe(`the answers of HBase 2.6.4, given by ${engineUnderTest.name}`, () => {
    const cases = engineUnderTest.concurrent ? it.concurrent : it;
    for (const whole of loadRecordedGroups().filter((_, index) => index % every === 0)) {
      const group = { ...whole, sequences: whole.sequences.slice(0, most) };
      cases(`group ${group.id} (${group.mode}, ${group.sequences.length} sequences)`, async () => {
        const clock = engineUnderTest.settableClock ? new TestClock(1_800_000_000_000) : undefined;
        const opened = await engineUnderTest.open(clock ? { clock } : {});
        try {
          const differences = await replayGroup(group, opened.engine, clock);
          expect(differences.slice(0, 3)).toEqual([]);
        } finally {
          await opened.close();
        }
      });
    }
  });
}
