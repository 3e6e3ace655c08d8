/**
 * `RowanTransactionService`: transactions of the embedded engine, for clients of this package. A connection has one at a time:
 *
 *     Begin | Get, Mutate, Multi, Scan … | End (again: …, End)*
 *
 * It ends with its connection, with its lease, or with its timeout; then nothing of it was written. Reads and writes are the
 * calls of `ClientService`, which name tables in place of regions.
 */

import { toLatin1 } from '../../bytes/index.js';
import { RowanError, TimeoutError } from '../../errors.js';
import { BeginRequest, EndRequest, EndResponse } from '../../hbase/wire/messages-transaction.js';
import { Empty } from '../../hbase/wire/schema.js';
import { scanInTransaction } from '../../store/serving.js';
import { canonicalTableName, type SyncTable, type SyncTableTransaction } from '../../table/index.js';
import { exceptionInTransaction, JavaClass, refused, ServerException } from '../errors.js';
import { type Answer, messageAnswer } from '../rpc/answer.js';
import type { Handler, Request, Service, ServiceSession } from '../rpc/request.js';
import type { RowParts, RowPlace, ServerParts } from './parts.js';
import { RegionService } from './region-service.js';

/** The totals of a server's open transactions. */
export class OpenTransactions {
  count = 0;
  /** Bytes of the requests of their writes. */
  bytes = 0;
}

const WHOLE = { contains: () => true };

/** The attempt that is under way. */
interface Attempt {
  readonly tables: SyncTableTransaction;
  readonly calls: RegionService;
  /** Lets the engine commit it, or gives it up. */
  end(commits: boolean): void;
}

/** What a `Begin` or an `End` waits for. */
interface Turn {
  /** Another attempt has begun, or the transaction is committed. */
  resolve(begun: boolean): void;
  reject(error: unknown): void;
}

/** The reason for which the engine gives up what its client gave up. */
class GivenUp extends Error {}

/** The transactions of one connection, one after the other. */
export class TransactionSession implements ServiceSession {
  readonly methods: Service;
  private attempt: Attempt | undefined;
  private turn: Turn | undefined;
  private stop: AbortController | undefined;
  /** Why the transaction ended other than by its client; reported to its next calls. */
  private failure: unknown;
  private bytes = 0;
  private lease: NodeJS.Timeout | undefined;

  constructor(
    private readonly parts: ServerParts,
    private readonly all: OpenTransactions,
  ) {
    this.methods = {
      begin: this.guarded(async ({ reader }) => {
        await this.begin(BeginRequest.read(reader));
        return messageAnswer(Empty, {});
      }),
      end: this.guarded(async ({ reader }) => {
        const { commits } = EndRequest.read(reader);
        return messageAnswer(EndResponse, { again: await this.end(commits) });
      }),
      get: this.inAttempt('get', false),
      scan: this.inAttempt('scan', false),
      mutate: this.inAttempt('mutate', true),
      multi: this.inAttempt('multi', true),
    };
  }

  /** Called when the connection has ended. */
  ended(): void {
    this.stop?.abort();
  }

  private begin({
    attempts,
    timeout,
  }: {
    readonly attempts: number;
    readonly timeout: number;
  }): Promise<boolean> {
    if (this.stop !== undefined) throw refused('A connection has one transaction at a time. End it first.');
    const { maxTransactions } = this.parts.settings;
    if (this.all.count >= maxTransactions) {
      throw new ServerException(
        JavaClass.RegionTooBusy,
        `There are ${this.all.count} transactions open, as many as the server has room for (maxTransactions).`,
        false,
      );
    }
    const stop = new AbortController();
    const begun = this.nextTurn();
    const run = this.parts.engine.transaction((tables) => this.run(tables), {
      attempts,
      timeout,
      signal: stop.signal,
    });
    this.stop = stop;
    this.failure = undefined;
    this.all.count++;
    run
      .finally(() => {
        this.all.count--;
        this.stop = undefined;
        this.leave();
        clearTimeout(this.lease);
      })
      .then(
        () => this.turn?.resolve(false),
        (error: unknown) => this.over(error),
      );
    return begun;
  }

  /** Runs one attempt: resolves when the client commits it. */
  private run(tables: SyncTableTransaction): Promise<void> {
    this.leave();
    return new Promise((resolve, reject) => {
      this.attempt = {
        tables,
        calls: new RegionService(this.partsOf(tables)),
        end: (commits) => (commits ? resolve() : reject(new GivenUp())),
      };
      this.extend();
      this.turn?.resolve(true);
    });
  }

  private end(commits: boolean): Promise<boolean> {
    const { attempt } = this;
    if (attempt === undefined) throw this.missing();
    clearTimeout(this.lease);
    this.leave();
    const ended = this.nextTurn();
    attempt.end(commits);
    return ended;
  }

  private over(error: unknown): void {
    const { turn } = this;
    // It was given up by its client: that is no failure.
    if (error instanceof GivenUp) turn?.resolve(false);
    else if (turn !== undefined) turn.reject(this.failure ?? error);
    else this.failure ??= error;
  }

  private nextTurn(): Promise<boolean> {
    return new Promise<boolean>((resolve, reject) => {
      this.turn = { resolve, reject };
    }).finally(() => {
      this.turn = undefined;
    });
  }

  /** Frees what the attempt holds besides its writes. */
  private leave(): void {
    this.attempt?.calls.close();
    this.attempt = undefined;
    this.all.bytes -= this.bytes;
    this.bytes = 0;
  }

  private extend(): void {
    const { transactionLease } = this.parts.settings;
    clearTimeout(this.lease);
    this.lease = setTimeout(() => {
      this.failure = new TimeoutError(
        `The transaction had no call for ${transactionLease} ms (transactionLease): nothing of it was written.`,
        { retryable: false },
      );
      this.stop?.abort();
    }, transactionLease);
    this.lease.unref();
  }

  /** A call of `ClientService` in the attempt. */
  private inAttempt(method: 'get' | 'scan' | 'mutate' | 'multi', writes: boolean): Handler {
    return this.guarded((request) => {
      const { attempt } = this;
      if (attempt === undefined) throw this.missing();
      this.extend();
      if (writes) this.charge(request);
      return attempt.calls.methods[method]!(request);
    });
  }

  /** @throws ServerException when the writes of all open transactions are too large. */
  private charge({ reader, cells }: Request): void {
    const { maxTransactionBytes } = this.parts.settings;
    const size = reader.end - reader.position + cells.left;
    if (this.all.bytes + size > maxTransactionBytes) {
      throw new ServerException(
        JavaClass.RegionTooBusy,
        `The open transactions have written ${this.all.bytes} bytes, as many as the server has room for (maxTransactionBytes).`,
        false,
      );
    }
    this.all.bytes += size;
    this.bytes += size;
  }

  private missing(): unknown {
    return (
      this.failure ??
      new RowanError('ERR_TRANSACTION_ENDED', 'There is no transaction on this connection. Begin one first.')
    );
  }

  private guarded(handler: Handler): Handler {
    return (request) => {
      try {
        const answer = handler(request);
        return answer instanceof Promise ? answer.catch(rethrow) : answer;
      } catch (error) {
        return rethrow(error);
      }
    };
  }

  private partsOf(tables: SyncTableTransaction): RowParts {
    const { store, meta, namespaces, settings, grants } = this.parts;
    const placeOf = (value: Uint8Array): RowPlace => {
      const table = canonicalTableName(toLatin1(value));
      const state = store.table(table);
      if (state !== undefined) return { state, region: WHOLE, name: value };
      throw new RowanError('ERR_TABLE_NOT_FOUND', `There is no table "${table}".`, { details: { table } });
    };
    const tableOf = (name: string): SyncTable => tables.table(name);
    return {
      engine: { table: tableOf },
      store: {
        readPoint: 0,
        table: (name) => store.table(name),
        scanRegion: ({ name }, _region, scan) => scanInTransaction(tableOf(name), scan),
      },
      regions: { open: ({ value }) => placeOf(value) },
      meta,
      namespaces,
      // An attempt that is repeated has written nothing.
      nonces: { apply: (name, change) => apply(tableOf(name), change) },
      settings,
      ...(grants && { grants }),
    };
  }
}

function rethrow(error: unknown): Answer {
  throw exceptionInTransaction(error);
}

function apply(table: SyncTable, change: Parameters<RowParts['nonces']['apply']>[1]) {
  switch (change.kind) {
    case 'increment':
      return table.increment(change);
    case 'append':
      return table.append(change);
    case 'rowMutations':
      return table.mutateRow(change);
    default:
      throw refused(`A ${change.kind} has no nonce.`);
  }
}
