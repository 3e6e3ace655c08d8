import { EMPTY_BYTES, fromLatin1 } from '../../bytes/index.js';
import { ClosedError, RowanError, SerializationError, TimeoutError, throwIfAborted } from '../../errors.js';
import { timerDelay } from '../../table/checks.js';
import { canonicalTableName } from '../../table/descriptor.js';
import {
  type Table,
  type TableTransaction,
  type TransactionOptions,
  transactionLimits,
} from '../../table/table.js';
import { RegionCache } from '../region/locator.js';
import { Region } from '../region/region.js';
import type { Registry } from '../region/registry.js';
import { asRowanError, UnaryCall } from '../rpc/call.js';
import { Connection } from '../rpc/connection.js';
import type { ServerAddress } from '../rpc/connection-settings.js';
import { ConnectionError, RemoteError, UnknownOutcomeError, withoutRetryAdvice } from '../rpc/errors.js';
import { BeginRequest, EndRequest, EndResponse } from '../wire/messages-transaction.js';
import { Empty } from '../wire/schema.js';
import { Dispatcher } from './dispatcher.js';
import { HBaseTable, type TableContext } from './hbase-table.js';
import { OpenScanners } from './open-scanners.js';
import { offAbort, onAbort, pauseBefore, sleep } from './retry.js';
import type { ScannerContext } from './scanner.js';

/** Milliseconds beyond the server's own deadline until its answer to a commit is given up. */
const GRACE = 10_000;

/** The parts of the client that transactions use. */
interface TransactionContext extends Pick<ScannerContext, 'settings' | 'observer' | 'isClosed'> {
  readonly registry: Pick<Registry, 'activeMaster'>;
}

/**
 * Transactions at a server of this package (`RowanTransactionService`). The server runs each as one of the embedded engine: its
 * snapshot, its checks and its turns are decided there. A connection has one transaction at a time; when it breaks, the server
 * drops what the transaction has written.
 */
export class ServedTransactions {
  /** Connections without a transaction. */
  private readonly idle: Connection[] = [];
  private readonly all = new Set<Connection>();
  private closed = false;

  constructor(private readonly cluster: TransactionContext) {}

  /** As `Engine.transaction`. `viewOf` adds the engine's observers to a table. */
  async run<T>(
    run: (transaction: TableTransaction) => Promise<T>,
    options: TransactionOptions = {},
    viewOf: (table: Table, tables: TableTransaction) => Table,
  ): Promise<T> {
    const { attempts, timeout } = transactionLimits(run, options);
    const { signal } = options;
    throwIfAborted(signal);
    const deadline = performance.now() + timeout;
    const connection = await this.begin(attempts, deadline, signal);
    let isClean = false;
    try {
      for (;;) {
        const tables = new RemoteTables(this.cluster, connection, viewOf);
        let outcome: { readonly value: T } | { readonly error: unknown };
        try {
          outcome = { value: await inTime(() => run(tables), timeout, deadline, signal) };
        } catch (error) {
          outcome = { error };
        } finally {
          tables.end();
        }
        if ('error' in outcome && isCut(outcome.error, deadline, signal)) throw outcome.error;
        const again = await end(connection, !('error' in outcome), deadline).catch((error: unknown) => {
          // What the function threw is told, not that the transaction was over by then.
          throw 'error' in outcome ? outcome.error : error;
        });
        if (again) continue;
        isClean = true;
        if ('error' in outcome) throw outcome.error;
        return outcome.value;
      }
    } catch (error) {
      isClean ||= error instanceof SerializationError;
      throw error;
    } finally {
      if (isClean && !this.closed) this.idle.push(connection);
      // The server ends a transaction whose connection ends.
      else connection.close();
    }
  }

  close(): void {
    this.closed = true;
    for (const connection of [...this.all]) connection.close();
  }

  /** Begins a transaction: nothing was done yet, so it is tried again as other calls are. */
  private async begin(
    attempts: number,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<Connection> {
    const { settings, registry } = this.cluster;
    for (let failures = 0; ; ) {
      if (this.closed) throw new ClosedError('The connection to HBase was closed.');
      const kept = this.idle.pop();
      let connection = kept;
      try {
        connection ??= this.open(await registry.activeMaster(settings.rpcTimeout));
        const timeout = Math.max(1, Math.floor(deadline - performance.now()));
        const request = new UnaryCall('Begin', timeout, BeginRequest, { attempts, timeout }, Empty);
        connection.send(request);
        await request.answer;
        return connection;
      } catch (thrown) {
        connection?.close();
        const error = asRowanError(thrown);
        throwIfAborted(signal);
        // A connection that was kept may have been closed by the server meanwhile.
        if (kept !== undefined && error instanceof ConnectionError) continue;
        if (!error.retryable || ++failures > settings.retries || performance.now() >= deadline) throw error;
        const pause = pauseBefore(failures, settings.pause, error);
        await sleep(Math.min(pause, Math.max(0, deadline - performance.now())), signal);
      }
    }
  }

  private open(address: ServerAddress): Connection {
    const { settings, observer } = this.cluster;
    const connection = new Connection(
      address,
      'RowanTransactionService',
      settings,
      settings.authenticator,
      observer,
      (ended) => {
        this.all.delete(ended);
        const at = this.idle.indexOf(ended);
        if (at >= 0) this.idle.splice(at, 1);
      },
    );
    this.all.add(connection);
    return connection;
  }
}

/** The tables of one attempt. Their calls go over the transaction's connection, and none is repeated. */
class RemoteTables implements TableTransaction {
  private readonly context: TableContext;
  private readonly cache = new RegionCache();
  private readonly tables = new Map<string, Table>();
  private readonly address: ServerAddress;
  private over = false;

  constructor(
    cluster: TransactionContext,
    connection: Connection,
    private readonly viewOf: (table: Table, tables: TableTransaction) => Table,
  ) {
    this.address = connection.address;
    const settings = { ...cluster.settings, retries: 0 };
    const pool = {
      get: (): Connection => {
        this.checkRunning();
        return connection;
      },
    };
    const locator = {
      cache: this.cache,
      locate: async (table: string): Promise<Region> => this.placeOf(table),
      lookupOf: (table: string): string => `The lookup of table ${table}`,
      isDisabled: async (): Promise<boolean> => false,
      isRecovered: async (): Promise<boolean> => false,
    };
    this.context = {
      settings,
      pool,
      locator,
      dispatcher: new Dispatcher(settings, pool, locator, cluster.observer),
      observer: cluster.observer,
      scanners: new OpenScanners(),
      regionFailed: () => undefined,
      get isClosed() {
        return cluster.isClosed;
      },
    };
  }

  table(name: string): Table {
    this.checkRunning();
    const canonical = canonicalTableName(name);
    let table = this.tables.get(canonical);
    if (table === undefined) {
      table = this.viewOf(new HBaseTable(this.context, canonical), this);
      this.tables.set(canonical, table);
    }
    return table;
  }

  end(): void {
    this.over = true;
    this.context.dispatcher.close();
  }

  /** The whole table, as requests of transactions name it. */
  private placeOf(table: string): Region {
    const name = fromLatin1(table);
    return this.cache.insert(new Region(table, EMPTY_BYTES, EMPTY_BYTES, 1, 0, name, this.address, 1, 0));
  }

  private checkRunning(): void {
    if (!this.over) return;
    throw new RowanError(
      'ERR_TRANSACTION_ENDED',
      'This transaction has ended. Use it only inside its function, and await everything that is started there.',
    );
  }
}

/** Ends an attempt. @returns whether another has begun. */
async function end(connection: Connection, commits: boolean, deadline: number): Promise<boolean> {
  const timeout = Math.max(1, deadline - performance.now()) + GRACE;
  const request = new UnaryCall('End', timeout, EndRequest, { commits }, EndResponse);
  try {
    connection.send(request);
    return (await request.answer).again;
  } catch (thrown) {
    const error = asRowanError(thrown);
    if (error instanceof RemoteError) {
      if (error.code === 'ERR_SERIALIZATION')
        throw new SerializationError(error.remoteMessage, { cause: error });
      if (!error.mayBeApplied) throw error;
    }
    if (!commits || !request.sent) throw error;
    throw new UnknownOutcomeError(
      `The commit of a transaction was sent, and whether it took effect is not known: ${withoutRetryAdvice(error)} ` +
        'Read what it wrote to find out.',
      { cause: error },
    );
  }
}

/** Whether the transaction is over whatever its function does. */
function isCut(error: unknown, deadline: number, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted === true || performance.now() >= deadline) return true;
  return error instanceof ConnectionError;
}

/** Runs the function, but waits for it no longer than until the deadline, or the abort. */
function inTime<T>(
  run: () => Promise<T>,
  timeout: number,
  deadline: number,
  signal: AbortSignal | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void =>
      reject(
        new RowanError(
          'ERR_ABORTED',
          'The transaction was aborted by its AbortSignal: nothing of it was written.',
          {
            cause: signal?.reason,
          },
        ),
      );
    const timer = setTimeout(
      () =>
        reject(
          new TimeoutError(
            `The transaction was not committed within ${timeout} ms: nothing of it was written. Do less in it, wait for ` +
              'nothing else, or give it more time (timeout).',
            { retryable: false },
          ),
        ),
      timerDelay(Math.max(1, deadline - performance.now())),
    );
    timer.unref();
    if (signal !== undefined) onAbort(signal, abort);
    const lift = (): void => {
      clearTimeout(timer);
      if (signal !== undefined) offAbort(signal, abort);
    };
    // In a promise, so that a synchronous throw is a rejection too.
    Promise.resolve().then(run).then(resolve, reject).finally(lift);
  });
}
