import { describe, expect, it } from 'vitest';
import { goldenOf, rowanSteps, type ScriptName, scriptOf, writeGolden } from '../shell/golden.js';
import { type Step, stepsOf } from '../shell/transcript.js';
import { connectShared, sharedHBase } from './connect.js';
import { InstanceLayout } from './server/layout.js';
import { runTypedShell } from './server/shell.js';

process.env['TZ'] = 'UTC';

/** What the real shell answers; every question is answered with yes. */
async function realSteps(name: ScriptName): Promise<Step[]> {
  const script = scriptOf(name);
  const output = await runTypedShell(new InstanceLayout(sharedHBase().instance), script, 'y\n'.repeat(50));
  return stepsOf(output, script);
}

describe.each<ScriptName>(['tables', 'rows', 'forms', 'cluster'])('%s.rb', (name) => {
  it('is answered by Rowan as by the shell of HBase, on the same server', async () => {
    const real = await realSteps(name);
    if (process.env['ROWAN_GOLDEN'] === 'write') writeGolden(name, real);
    const engine = await connectShared();
    try {
      expect(await rowanSteps(engine, scriptOf(name))).toEqual(real);
      expect(goldenOf(name)).toEqual(real);
    } finally {
      await engine.close();
    }
  });
});
