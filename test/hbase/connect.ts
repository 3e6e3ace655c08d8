import { inject } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import type { Engine } from '../../src/table/index.js';
import type { SharedHBase } from './global-setup.js';

/** The server of the files of this worker: what runs beside them has another, so no file sees the tables of two at once. */
export function sharedHBase(): SharedHBase {
  return inject('hbase')[Number(process.env['VITEST_POOL_ID']) - 1]!;
}

/** An engine on {@link sharedHBase}. */
export function connectShared(options: HBaseOptions = {}): Promise<Engine> {
  return connectHBase({ masters: sharedHBase().masters, ...options });
}
