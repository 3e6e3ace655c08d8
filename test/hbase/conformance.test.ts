import type { Engine } from '../../src/table/index.js';
import type { EngineUnderTest } from '../conformance/harness.js';
import { describeRules } from '../conformance/rules/suite.js';
import { describeVectors } from '../conformance/vectors/suite.js';
import { connectShared } from './connect.js';
import { dropTable } from './tables.js';

let cleared: Promise<void> | undefined;

/** A run that was broken off may have left tables of the suites. */
async function dropLeftovers(engine: Engine): Promise<void> {
  for (const { name } of await engine.admin.listTables()) {
    if (/^(rules|vectors)_/.test(name)) await dropTable(engine, name);
  }
}

const hbaseEngine: EngineUnderTest = {
  name: 'HBase 2.6.4',
  settableClock: false,
  concurrent: true,
  async open() {
    const engine = await connectShared();
    cleared ??= dropLeftovers(engine);
    await cleared;
    return { engine, close: () => engine.close() };
  },
};

describeRules(hbaseEngine);
describeVectors(hbaseEngine);
