import { EMPTY_BYTES } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import type { Result } from '../../table/result.js';
import { Scan } from '../../table/scan.js';
import type { MetaReader } from '../region/locator.js';
import { META_TABLE } from '../region/region.js';
import { firstAnswer, type NobodyAnswered } from '../rpc/first-answer.js';
import { HBaseScanner, type ScannerContext } from './scanner.js';

/** Everybody waits for lookups: the pauses between their attempts stay short. */
const LONGEST_PAUSE = 1000;
const PRIMARY = 0;

/**
 * Reads meta with a short wait for each answer, so that a server which hangs with it is left soon, and asks meta's
 * replicas when its primary takes long. A replica may lag behind: where it says that a region is, the region may be, and
 * a wrong place is found out; that there is none, only the primary can say.
 */
export function readMeta(cluster: ScannerContext): MetaReader {
  const { settings } = cluster;
  const context: ScannerContext = {
    settings: { ...settings, scannerTimeout: settings.metaTimeout },
    longestPause: LONGEST_PAUSE,
    pool: cluster.pool,
    locator: cluster.locator,
    observer: cluster.observer,
    scanners: cluster.scanners,
    regionFailed: (region, error) => cluster.regionFailed(region, error),
    get isClosed() {
      return cluster.isClosed;
    },
  };
  const read = async (
    scan: Scan,
    limit: number,
    signal: AbortSignal | undefined,
    replicaId: number,
  ): Promise<Result[]> => {
    const scanner = new HBaseScanner(context, META_TABLE, scan.setLimit(limit), { signal }, replicaId);
    try {
      return await scanner.nextBatch(limit);
    } finally {
      await scanner.close();
    }
  };
  const replicas = async (): Promise<number[]> => {
    try {
      const region = await cluster.locator.locate(META_TABLE, EMPTY_BYTES, false, settings.metaTimeout);
      return region.replicas.flatMap((replica) => (replica === undefined ? [] : [replica.replicaId]));
    } catch {
      // The scan of the primary says what is wrong, if it does not come right meanwhile.
      return [PRIMARY];
    }
  };
  return {
    async scanBackwards(startRow, stopRow, limit) {
      const ask = async (replicaId: number, signal?: AbortSignal): Promise<Result[]> => {
        const scan = new Scan().setReversed(true).withStartRow(startRow).withStopRow(stopRow, true);
        const rows = await read(scan.addFamily('info'), limit, signal, replicaId);
        if (replicaId === PRIMARY || rows.length > 0) return rows;
        throw new RowanError('ERR_NOT_FOUND', `Replica ${replicaId} of meta knows no such region.`, {
          retryable: true,
        });
      };
      const candidates = await replicas();
      if (candidates.length < 2) return ask(PRIMARY);
      const asking = { atOnce: 1, stagger: settings.metaReplicaDelay, timeout: settings.operationTimeout };
      try {
        return await firstAnswer(candidates, asking, ask);
      } catch (failure) {
        const [first] = (failure as NobodyAnswered).errors;
        throw first ?? failure;
      }
    },
    async tableState(row) {
      const scan = new Scan().withStartRow(row).withStopRow(row, true).addColumn('table', 'state');
      return (await read(scan, 1, undefined, PRIMARY))[0]?.getValue('table', 'state');
    },
  };
}
