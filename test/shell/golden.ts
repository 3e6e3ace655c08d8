import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ShellSession } from '../../src/shell/index.js';
import type { Engine } from '../../src/table/index.js';
import { type Step, stepsOf } from './transcript.js';

const FOLDER = import.meta.dirname;

/** `tables`, `rows` and `forms`: for both engines. `cluster`: what an embedded store has not. */
export type ScriptName = 'tables' | 'rows' | 'forms' | 'cluster';

export function scriptOf(name: ScriptName): string {
  return readFileSync(join(FOLDER, `${name}.rb`), 'utf8');
}

/** What the real shell answered, one step a line. */
export function goldenOf(name: ScriptName): Step[] {
  const lines = readFileSync(join(FOLDER, `${name}.golden.ndjson`), 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line) as Step);
}

export function writeGolden(name: ScriptName, steps: readonly Step[]): void {
  const lines = steps.map((step) => `${JSON.stringify(step)}\n`);
  writeFileSync(join(FOLDER, `${name}.golden.ndjson`), lines.join(''));
}

/** What Rowan's shell answers to a script. */
export async function rowanSteps(engine: Engine, script: string): Promise<Step[]> {
  let output = '';
  const session = new ShellSession({
    engine,
    version: '0.0.0',
    io: {
      write: (text) => {
        output += text;
      },
      ask: async () => 'y',
      width: () => 0,
    },
  });
  await session.script(script);
  return stepsOf(output, script);
}
