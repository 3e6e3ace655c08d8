/** The rows of `hbase:meta` and `hbase:namespace`, derived from the store's catalog; they are not stored. */

import { EMPTY_BYTES } from '../../bytes/index.js';
import { tableNameMessage, tableNameText } from '../../hbase/admin/table-codec.js';
import { regionNameOf } from '../../hbase/region/region.js';
import { NamespaceDescriptor } from '../../hbase/wire/messages-admin.js';
import { RegionInfoMessage, type ServerName } from '../../hbase/wire/messages-rpc.js';
import { encodeMessage, type TypeOf } from '../../hbase/wire/schema.js';
import type { Region, ServedStore, TableState } from '../../store/serving.js';
import { Cell, CellType, Result } from '../../table/index.js';
import { regionInfoOf, type ServedRegions } from './served-regions.js';

type RegionInfo = TypeOf<typeof RegionInfoMessage>;

const MAGIC = Buffer.from('PBUF');
/** The sequence number with which regions were opened: any constant. */
const SEQUENCE = longBytes(2);

function longBytes(value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

/** A row with its cells in order and one timestamp. */
function rowOf(
  row: Uint8Array,
  family: string,
  timestamp: number,
  values: Readonly<Record<string, Uint8Array>>,
): Result {
  const cells = Object.keys(values)
    .sort()
    .map(
      (qualifier) =>
        new Cell(row, family, Buffer.from(qualifier), timestamp, CellType.Put, values[qualifier]!),
    );
  return new Result(row, cells);
}

/** The table of namespaces, as in servers before 3.0. */
export const NAMESPACE_TABLE = 'hbase:namespace';
const NAMESPACE_REGION_ID = 1;
export const NAMESPACE_REGION = regionNameOf(NAMESPACE_TABLE, EMPTY_BYTES, NAMESPACE_REGION_ID);
const NAMESPACE_INFO: RegionInfo = {
  regionId: NAMESPACE_REGION_ID,
  tableName: tableNameMessage(NAMESPACE_TABLE),
  startKey: EMPTY_BYTES,
  endKey: EMPTY_BYTES,
  offline: false,
  split: false,
  replicaId: 0,
};

interface KnownTable {
  readonly regions: readonly Region[];
  readonly enabled: boolean;
  readonly rows: readonly Result[];
}

/** The rows of meta, table by table; cached while a table does not change. */
export class MetaRows {
  private readonly known = new WeakMap<TableState, KnownTable>();
  private readonly ofNamespaces: readonly Result[];

  constructor(
    private readonly store: ServedStore,
    private readonly regions: ServedRegions,
    private readonly server: ServerName,
    private readonly startedAt: number,
  ) {
    this.ofNamespaces = [
      this.stateRow(NAMESPACE_TABLE, true),
      this.regionRow(NAMESPACE_REGION, NAMESPACE_INFO, true),
    ];
  }

  /** The names of the tables that have rows, in row order. */
  tables(): string[] {
    const names = [...this.store.tableNames(), NAMESPACE_TABLE];
    return names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }

  /** The row with the table's state, then those of its regions; empty if the table does not exist. */
  of(table: string): readonly Result[] {
    if (table === NAMESPACE_TABLE) return this.ofNamespaces;
    const state = this.store.table(table);
    if (state === undefined) return [];
    const known = this.known.get(state);
    if (known !== undefined && known.regions === state.regions && known.enabled === state.enabled)
      return known.rows;
    const { regions, enabled } = state;
    const rows = this.regions
      .of(state)
      .map((served) => this.regionRow(served.name, regionInfoOf(served), enabled));
    rows.unshift(this.stateRow(state.name, enabled));
    this.known.set(state, { regions, enabled, rows });
    return rows;
  }

  private stateRow(name: string, enabled: boolean): Result {
    // TableState: field 1, 0 enabled, 1 disabled.
    const state = Uint8Array.of(8, enabled ? 0 : 1);
    return rowOf(Buffer.from(name), 'table', this.startedAt, { state });
  }

  private regionRow(name: Uint8Array, info: RegionInfo, enabled: boolean): Result {
    const { hostName, port, startCode = 0 } = this.server;
    return rowOf(name, 'info', this.startedAt, {
      regioninfo: Buffer.concat([MAGIC, encodeMessage(RegionInfoMessage, info)]),
      seqnumDuringOpen: SEQUENCE,
      server: Buffer.from(`${hostName}:${port}`),
      serverstartcode: longBytes(startCode),
      sn: Buffer.from(`${hostName},${port},${startCode}`),
      state: Buffer.from(enabled ? 'OPEN' : 'CLOSED'),
    });
  }
}

/** The rows of `hbase:namespace`. */
export function namespaceRows(
  namespaces: readonly { readonly name: string; readonly properties: Readonly<Record<string, string>> }[],
  timestamp: number,
): Result[] {
  return namespaces.map(({ name, properties }) => {
    const configuration = Object.entries(properties).map(([key, value]) => ({ name: key, value }));
    const descriptor = encodeMessage(NamespaceDescriptor, { name: Buffer.from(name), configuration });
    return rowOf(Buffer.from(name), 'info', timestamp, { d: descriptor });
  });
}

/** The table of a row of meta: the text before its first comma. */
export function tableOfMetaRow(row: Uint8Array): string {
  const comma = row.indexOf(0x2c);
  const name = Buffer.from(comma < 0 ? row : row.subarray(0, comma)).toString('utf8');
  const colon = name.indexOf(':');
  if (colon < 0) return name;
  return tableNameText({
    namespace: Buffer.from(name.slice(0, colon)),
    qualifier: Buffer.from(name.slice(colon + 1)),
  });
}
