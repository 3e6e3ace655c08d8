import { describe, expect, it } from 'vitest';
import type { EngineUnderTest } from '../harness.js';
import { compareWithModel } from './run.js';

/** So many tests share the work, so that a failure shows early. */
const PARTS = 20;

interface DifferentialOptions {
  /** Queries to compare, each on a random table after random changes. */
  readonly triples: number;
  /** Another seed tries other sequences: ROWAN_SEED=7 npm test. */
  readonly seed: number;
}

/** Compares an engine with the model on random schemas, changes and queries. A failure shows a shortened sequence. */
export function describeDifferential(engineUnderTest: EngineUnderTest, options: DifferentialOptions): void {
  const part = Math.ceil(options.triples / PARTS);
  describe(`${engineUnderTest.name} and the model, on ${options.triples} random queries`, () => {
    it.each(Array.from({ length: PARTS }, (_, i) => options.seed + i * 1_000_000))(
      'agree from seed %i on',
      async (seed) => {
        const { triples, difference } = await compareWithModel(engineUnderTest, seed, part);
        expect(difference ?? '').toBe('');
        expect(triples).toBeGreaterThanOrEqual(part);
      },
    );
  });
}
