import { inject } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import type { Engine } from '../../src/table/index.js';

/** An engine on the server that the suites share. */
export function connectShared(options: HBaseOptions = {}): Promise<Engine> {
  return connectHBase({ masters: inject('hbase').masters, ...options });
}
