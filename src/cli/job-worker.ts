/** The mapper thread of `rowan job run --workers`: runs the module's job over a read-only copy of the store. */

import { parentPort, workerData } from 'node:worker_threads';
import { open } from '../database.js';
import { RowanError } from '../errors.js';
import { serveMapper } from '../job/workers/mapper.js';
import { type MapperReply, toThread } from '../job/workers/pool.js';
import type { Engine } from '../table/index.js';
import { encryptionFromEnvironment } from './encryption.js';
import { jobOf } from './job-module.js';
import { importModule, schemaOf } from './load-entities.js';

/** The thread's workerData. */
export interface JobWorkerData {
  readonly module: string;
}

/** The first message to the thread: the folder of its copy, once that exists. */
export type JobWorkerStore = string;

/** Each thread has a block cache of its own and reads every block once, so it is small. */
const CACHE_BYTES = 8 << 20;

async function main(): Promise<void> {
  const { module } = workerData as JobWorkerData;
  const folderMessage = new Promise<JobWorkerStore>((resolve) => parentPort!.once('message', resolve));
  const exports = await importModule(module);
  const store = await folderMessage;
  const db = await open({
    path: store,
    ...encryptionFromEnvironment(),
    entities: schemaOf(module, exports).entities.map(({ target }) => target),
    tables: 'ignore',
    automatic: false,
    background: 'inline',
    blockCacheSize: CACHE_BYTES,
  });
  await refuseWrites(db.engine);
  serveMapper(parentPort!, await jobOf(module, exports, db));
}

/** Writes would be lost together with the copy. */
async function refuseWrites(engine: Engine): Promise<void> {
  for (const { name } of await engine.admin.listTables()) {
    engine.observe(name, {
      before() {
        throw new RowanError(
          'ERR_UNSUPPORTED',
          `Table "${name}" is read-only in a mapper thread. Emit what is to be written and let a sink write it, or run the job without --workers.`,
          { details: { table: name } },
        );
      },
    });
  }
}

main().catch((error: unknown) => {
  const reply: MapperReply = { failed: toThread(error) };
  parentPort!.postMessage(reply);
});
