/** The thread that decodes a Parquet file: a damaged page can keep it, but nobody else, busy for good. */

import { parentPort, workerData } from 'node:worker_threads';
import { toWire, type WireError } from '../../errors.js';
import { type ParquetItem, ParquetRows } from './parquet-rows.js';

/** The answer to a number of a row. */
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
