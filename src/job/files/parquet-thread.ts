/** The thread that decodes a Parquet file: a damaged page can block it forever, but not the main thread. */

import { parentPort, workerData } from 'node:worker_threads';
import { toWire, type WireError } from '../../errors.js';
import { type ParquetItem, ParquetRows } from './parquet-rows.js';

/** The answer to a request for rows. */
export type ParquetReply = { readonly rows: readonly ParquetItem[] } | { readonly error: WireError };

const file = new ParquetRows(workerData as string);

parentPort?.on('message', (first: number) => {
  file.rows(first).then(
    (rows) => answer({ rows }),
    (error: unknown) => answer({ error: toWire(error) }),
  );
});

function answer(reply: ParquetReply): void {
  parentPort?.postMessage(reply);
}
