import { randomUUID } from 'node:crypto';
import { EMPTY_BYTES, toLatin1 } from '../../bytes/index.js';
import type { EmbeddedEngine } from '../../store/engine.js';
import type { ServedStore } from '../../store/serving.js';
import {
  type Durability,
  Get,
  Put,
  Result,
  type RowMutation,
  type RowMutations,
  tableDescriptor,
} from '../../table/index.js';

/** The server's own system table, hidden from clients. */
const SERVER_TABLE = 'hbase:rowan_server';
const NONCES = 'n';
const IDENTITY = 'i';
/** How long nonces are kept, in seconds: as in HBase (`hbase.server.hashNonce.evictPeriod`). */
const REMEMBERED = 1800;
const CLUSTER_ROW = 'cluster';
const ID = 'id';

type Change = RowMutation | RowMutations;

/**
 * Makes retried increments and appends idempotent. Clients resend them with the same nonce if the response was lost; a
 * change with a known nonce is not repeated. A nonce is stored in the same step as its change, so a crash loses both or
 * neither.
 */
export class Nonces {
  constructor(
    private readonly engine: EmbeddedEngine,
    private readonly store: ServedStore,
  ) {}

  /** Creates the table if it is missing. */
  async prepare(): Promise<void> {
    if (await this.engine.admin.tableExists(SERVER_TABLE)) return;
    await this.engine.admin.createTable(
      tableDescriptor(SERVER_TABLE, { [NONCES]: { ttl: REMEMBERED }, [IDENTITY]: {} }),
    );
  }

  /**
   * The id by which clients identify this store, and the start code of its server, which says whose nonces are known: the millisecond
   * in which both were created, once, since nonces outlast a restart.
   */
  async identity(): Promise<{ readonly clusterId: string; readonly startCode: number }> {
    const table = this.engine.table(SERVER_TABLE);
    return table.atomic!((step) => {
      const read = () => step.read(new Get(CLUSTER_ROW)).getColumnCells(IDENTITY, ID)[0];
      if (read() === undefined) {
        const change = new Put(CLUSTER_ROW).addColumn(IDENTITY, ID, randomUUID());
        step.apply({ table: SERVER_TABLE, change });
      }
      const { value, timestamp } = read()!;
      return { clusterId: toLatin1(value), startCode: timestamp };
    });
  }

  /** Executes a change unless its nonce is known; returns its result, or the present values of its columns. */
  apply(table: string, change: Change, group: bigint, nonce: bigint): Promise<Result> {
    const row = Buffer.alloc(16);
    row.writeBigUInt64BE(nonce);
    row.writeBigUInt64BE(group, 8);
    return this.engine.table(table).atomic!((step) => {
      const before = step.read(new Get(row).addFamily(NONCES), SERVER_TABLE);
      if (!before.isEmpty) {
        const columns = columnsOf(change);
        return columns === undefined ? Result.EMPTY : step.read(columns);
      }
      const result = step.apply({ table, change });
      const put = new Put(row).addColumn(NONCES, EMPTY_BYTES, EMPTY_BYTES);
      step.apply({ table: SERVER_TABLE, change: put.setDurability(this.durabilityOf(table, change)) });
      return result;
    });
  }

  /** A nonce has the same durability as its change. */
  private durabilityOf(table: string, change: Change): Durability {
    const asked = change.kind === 'rowMutations' ? change.mutations[0]?.durability : change.durability;
    if (asked !== undefined && asked !== 'USE_DEFAULT') return asked;
    return this.store.table(table)?.descriptor.durability ?? 'USE_DEFAULT';
  }
}

/** The columns that a change returns; undefined if none. */
function columnsOf(change: Change): Get | undefined {
  const get = new Get(change.row);
  const parts = change.kind === 'rowMutations' ? change.mutations : [change];
  let isAsked = false;
  for (const part of parts) {
    if ((part.kind !== 'increment' && part.kind !== 'append') || !part.returnResults) continue;
    for (const { family, qualifier } of part.columns) {
      get.addColumn(family, qualifier);
      isAsked = true;
    }
  }
  return isAsked ? get : undefined;
}
