import type { EngineUnderTest } from '../conformance/harness.js';
import { describeRules } from '../conformance/rules/suite.js';
import { connectShared } from './connect.js';
import { DEVIATIONS } from './deviations.js';

const bigtableEngine: EngineUnderTest = {
  name: 'Bigtable',
  settableClock: false,
  concurrent: true,
  deviations: DEVIATIONS,
  async open() {
    const engine = await connectShared();
    return { engine, close: () => engine.close() };
  },
};

describeRules(bigtableEngine, ['major']);
