import type { TestProject } from 'vitest/node';
import { Emulator } from './emulator/emulator.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** "host:port" of the emulator that the suites share. */
    readonly bigtable: string;
  }
}

/** Starts one emulator for all suites, or takes that of `BIGTABLE_EMULATOR_HOST`. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['BIGTABLE_EMULATOR_HOST'];
  if (given !== undefined) {
    project.provide('bigtable', given);
    return async () => {};
  }
  const emulator = await Emulator.start();
  project.provide('bigtable', emulator.host);
  return () => emulator.kill();
}
