import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runGroup } from '../hbase/differential/group-run.js';
import { scaled } from '../proof/scale.js';
import { embeddedEngine } from './engines/embedded.js';
import { servedEngine } from './engines/served.js';
import type { OpenEngine } from './harness.js';
import { describeVectors } from './vectors/suite.js';

describeVectors(servedEngine, scaled(60, 10, 1), scaled(2, 50, 1000));

const SEED = Number(process.env['ROWAN_SEED'] ?? 20_261);
const GROUPS = scaled(1, 4, 40);
const SEQUENCES = scaled(4, 50, 100);
const LENGTH = 30;

describe('random operation sequences on a store, served and not', () => {
  let served: OpenEngine;
  let embedded: OpenEngine;
  beforeAll(async () => {
    [served, embedded] = await Promise.all([servedEngine.open(), embeddedEngine.open()]);
  });
  afterAll(() => Promise.all([served.close(), embedded.close()]));

  it.each(Array.from({ length: GROUPS }, (_, group) => SEED + group))(
    `give the same answers (${SEQUENCES} sequences of seed %i)`,
    async (seed) => {
      const engines = [served.engine, embedded.engine] as const;
      const { steps, differences } = await runGroup(engines, seed, SEQUENCES, LENGTH);
      expect(steps).toBe(SEQUENCES * LENGTH);
      expect(differences.slice(0, 3).join('\n\n')).toBe('');
    },
  );
});
