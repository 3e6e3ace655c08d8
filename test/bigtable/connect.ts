import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { connectBigtableEngine } from '../../src/bigtable/engine.js';
import type { BigtableOptions } from '../../src/bigtable/options.js';
import type { Engine } from '../../src/table/index.js';

/** Options of an instance of its own, without any table: the emulator has as many as are asked for. */
export function freshInstance(options: Partial<BigtableOptions> = {}): BigtableOptions {
  return {
    projectId: 'rowan',
    instanceId: `i-${randomBytes(6).toString('hex')}`,
    emulatorHost: inject('bigtable'),
    ...options,
  };
}

/** An engine on the emulator that the suites share. */
export function connectShared(options: Partial<BigtableOptions> = {}): Promise<Engine> {
  return connectBigtableEngine(freshInstance(options));
}
