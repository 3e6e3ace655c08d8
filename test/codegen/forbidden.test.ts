/** Runtimes that make no functions of text take the plain forms, by themselves, with the same results. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { bundleOf, bundleOfText } from '../bundle.js';
import { scaled } from '../proof/scale.js';

const SEEDS = scaled(2, 4, 4);

async function run(...flags: readonly string[]): Promise<{ generated: boolean; answers: unknown[][] }> {
  const program = bundleOf('test/codegen/program.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, String(SEEDS)], {
    maxBuffer: 1 << 26,
  });
  return JSON.parse(stdout) as { generated: boolean; answers: unknown[][] };
}

it('gives the same answers where code generation from strings is disallowed', async () => {
  const [free, forbidden] = await Promise.all([run(), run('--disallow-code-generation-from-strings')]);
  expect([free.generated, forbidden.generated]).toEqual([true, false]);
  expect(free.answers.flat().length).toBeGreaterThan(20);
  expect(forbidden.answers).toEqual(free.answers);
});

it('says that Avro needs it, and what to do', async () => {
  const code = `
    import { avroCodec } from './src/codec/index.ts';
    try { avroCodec('int'); console.log('made'); } catch (error) { console.log(error.code, error.message); }`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--disallow-code-generation-from-strings',
    bundleOfText(code),
  ]);
  expect(stdout).toMatch(/^ERR_UNSUPPORTED Avro columns need code generation/);
});
