import { ModelEngine } from '../../model/engine.js';
import type { EngineUnderTest } from '../harness.js';

/** The naive model. It does not compact a part of its files, has no regions, and no capabilities. */
export const modelEngine: EngineUnderTest = {
  name: 'the model',
  settableClock: true,
  async open(options = {}) {
    const engine = new ModelEngine({
      now: options.clock?.now ?? Date.now,
      random: options.random ?? Math.random,
    });
    return { engine, close: () => engine.close() };
  },
};
