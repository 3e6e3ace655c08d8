/**
 * What the programs of the cookbook have in common: a database of an engine, and what they print. A program runs in
 * memory; with ROWAN_MASTERS=host:port it runs on HBase, with ROWAN_BIGTABLE=project/instance on Bigtable, in the namespace
 * `cookbook`, whose tables it drops.
 */

import {
  connect,
  type Database,
  type EntityClass,
  type Explanation,
  type QueryEvent,
  type QueryListener,
} from 'rowan-orm';
import { connectBigtable } from 'rowan-orm/bigtable';
import { ALL_VERSIONS, type Engine, Scan, toStringBinary } from 'rowan-orm/table';
import { MemoryFileSystem, openMemory } from 'rowan-orm/testing';

const NAMESPACE = 'cookbook';

/** A query of any kind: it can be explained and read. */
interface Shown {
  explain(): Explanation;
  all(): Promise<readonly object[]>;
}

export interface Recipe extends AsyncDisposable {
  readonly db: Database;
  /** Ends the program and begins a later one, of other declarations, with the tables as they are; `db` is its database. */
  restart(entities: readonly EntityClass[]): Promise<void>;
  /** Whether the program runs on a server, HBase or Bigtable, on which a row is the largest step. */
  readonly onServer: boolean;
  /** What is printed from here on is the block of this name on the recipe's page. */
  section(name: string): void;
  print(...lines: readonly unknown[]): void;
  /** Prints the row key of an entity, as the HBase shell prints bytes. */
  key(entity: EntityClass, values: Readonly<Record<string, unknown>>): void;
  /** Prints the row keys that a table has. */
  rows(table: string): Promise<void>;
  /** Runs a query: prints what is asked, its plan, its rows, and what was read. */
  show(question: string, query: Shown): Promise<void>;
  /** Prints rows, cells and bytes of a table; `deleted`: with deleted cells and delete markers that are still kept. */
  size(table: string, options?: { readonly deleted: boolean }): Promise<void>;
}

/** Opens a database for a recipe, on the engine that the environment says. */
export async function openRecipe(entities: readonly EntityClass[]): Promise<Recipe> {
  const read = new ReadCounter();
  const connected = connecting();
  if (connected === undefined) {
    const disk = new MemoryFileSystem();
    const later: Later = (some) =>
      openMemory({ entities: some, disk, onQuery: read.listener, tables: 'ignore' });
    return new PrintedRecipe(
      await openMemory({ entities, disk, onQuery: read.listener }),
      false,
      read,
      later,
    );
  }
  {
    await using before = await connected({ entities, tables: 'ignore' });
    await dropTables(before.engine);
  }
  const later: Later = (some) => connected({ entities: some, onQuery: read.listener, tables: 'ignore' });
  const db = await connected({ entities, onQuery: read.listener, tables: 'create' });
  return new PrintedRecipe(db, true, read, later);
}

/** Opens the tables as they are. */
type Later = (entities: readonly EntityClass[]) => Promise<Database>;

/** Connects to the server that the environment says; undefined: none. */
function connecting():
  | ((options: {
      readonly entities: readonly EntityClass[];
      readonly onQuery?: QueryListener;
      readonly tables: 'create' | 'ignore';
    }) => Promise<Database>)
  | undefined {
  const { ROWAN_MASTERS: masters, ROWAN_BIGTABLE: instance } = process.env;
  if (masters !== undefined) return (options) => connect({ masters: masters.split(','), ...options });
  if (instance === undefined) return undefined;
  const [projectId, instanceId] = instance.split('/') as [string, string];
  // A change of keys waits for both of these times.
  const times = { descriptorLifetime: 500, operationTimeout: 10_000 };
  return (options) => connectBigtable({ projectId, instanceId, ...times, ...options });
}

async function dropTables({ admin }: Engine): Promise<void> {
  for (const { name } of await admin.listTables()) {
    if (!name.startsWith(`${NAMESPACE}:`)) continue;
    if (await admin.isTableEnabled(name)) await admin.disableTable(name);
    await admin.deleteTable(name);
  }
}

/** Adds up what queries tell when they end. */
class ReadCounter {
  private events: QueryEvent[] = [];
  readonly listener: QueryListener = (event) => this.events.push(event);

  /** What was read since it was asked last. */
  take(): string {
    const [ranges, rows, bytes] = (['ranges', 'rows', 'bytes'] as const).map((figure) =>
      this.events.reduce((sum, event) => sum + event[figure], 0),
    );
    this.events = [];
    return `${counted(ranges!, 'range')}, ${counted(rows!, 'row')}, ${counted(bytes!, 'byte')} of values`;
  }
}

class PrintedRecipe implements Recipe {
  constructor(
    public db: Database,
    readonly onServer: boolean,
    private readonly read: ReadCounter,
    private readonly later: Later,
  ) {}

  async restart(entities: readonly EntityClass[]): Promise<void> {
    await this.db.close();
    this.db = await this.later(entities);
  }

  section(name: string): void {
    console.log(`\n=== ${name}`);
  }

  print(...lines: readonly unknown[]): void {
    for (const line of lines)
      console.log(typeof line === 'object' && line !== null ? rowText(line) : String(line));
  }

  key(entity: EntityClass, values: Readonly<Record<string, unknown>>): void {
    console.log(toStringBinary(this.db.schema.entity(entity).key.encode(values)));
  }

  async rows(table: string): Promise<void> {
    for await (const { row } of this.db.engine.table(table).scan(new Scan()))
      console.log(toStringBinary(row));
  }

  /** On a server entries are verified after the answer of a write; a check waits for that. */
  private async entriesSettled(): Promise<void> {
    if (!this.onServer) return;
    for (const { target, indexes } of this.db.schema.entities) {
      for (const { name } of indexes) {
        const index = this.db.index(target as never, name as never);
        if (index.state === 'active') await index.verify();
      }
    }
  }

  async show(question: string, query: Shown): Promise<void> {
    await this.entriesSettled();
    this.read.take();
    const rows = await query.all();
    console.log(`> ${question}`);
    console.log(String(query.explain()));
    console.log(`  read   ${this.read.take()}`);
    for (const row of rows) console.log(`  = ${rowText(row)}`);
  }

  async size(table: string, { deleted } = { deleted: false }): Promise<void> {
    await this.entriesSettled();
    const scan = new Scan().setRaw(deleted).readVersions(ALL_VERSIONS);
    const rows = new Set<string>();
    let [cells, bytes] = [0, 0];
    for await (const result of this.db.engine.table(table).scan(scan)) {
      rows.add(toStringBinary(result.row));
      for (const { family, qualifier, value } of result.cells) {
        cells++;
        // HBase's KeyValue: lengths, row, family, qualifier, timestamp, type, value.
        bytes += 20 + result.row.length + family.length + qualifier.length + value.length;
      }
    }
    console.log(
      `${table}: ${counted(rows.size, 'row')}, ${counted(cells, 'cell')}, ${counted(bytes, 'byte')}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.onServer) await dropTables(this.db.engine);
    await this.db.close();
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function rowText(row: object): string {
  return Object.entries(row)
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) =>
        `${name}=${valueText(name === 'timestamp' && value > 1e11 ? new Date(value) : value)}`,
    )
    .join(' ');
}

function valueText(value: unknown): string {
  if (value instanceof Date) return value.toISOString().replace(/T00:00:00.000Z$|\.000Z$/, '');
  if (value instanceof Uint8Array) return toStringBinary(value);
  if (value instanceof Map)
    return `{${[...value].map(([key, entry]) => `${valueText(key)}: ${valueText(entry)}`).join(', ')}}`;
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (typeof value === 'object' && value !== null) return `{${rowText(value)}}`;
  return String(value);
}
