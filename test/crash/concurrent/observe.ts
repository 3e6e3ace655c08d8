/** Reads what a store shows of the changes of `clients.ts`, and holds each change to being whole. */

import { toLatin1 } from '../../../src/bytes/index.js';
import type { EmbeddedEngine } from '../../../src/store/engine.js';
import { type Result, Scan } from '../../../src/table/index.js';
import type { Observed } from './history.js';

/** How many rows a bulk load has. */
export const LOAD_ROWS = 3;

/** How many rows the batch of a change has. Batches of 16 rows are in the log before they are in memory, smaller ones after it. */
export function batchRows(id: number): number {
  return id % 3 === 0 ? 16 : 4;
}

export async function observe(engine: EmbeddedEngine): Promise<Observed> {
  const observer = new Observer();
  // Tables are made and dropped meanwhile; but what is seen of 't' is seen at one moment, which comes first.
  const scanner = (await engine.admin.tableExists('t')) ? engine.table('t').scan(new Scan()) : undefined;
  const tables = (await engine.admin.listTables()).map(({ name }) => name);
  if (scanner !== undefined) for await (const result of scanner) observer.row(result);
  for (const name of tables) if (name.startsWith('u')) observer.changes.add(Number(name.slice(1)));
  observer.end();
  return observer;
}

class Observer implements Observed {
  readonly changes = new Set<number>();
  readonly values = new Map<string, number>();
  private readonly parts = new Map<number, number>();

  row(result: Result): void {
    const row = toLatin1(result.row);
    const cells = new Map(
      result.cells.map((cell) => [`${cell.family}:${toLatin1(cell.qualifier)}`, cell.value]),
    );
    const [kind, id] = [row[0], Number(row.split('-')[1])];
    if (kind === 'p') this.both(row, cells, id);
    else if (kind === 'k') this.add(id);
    else if (kind === 's') this.shared(row, cells);
    else if (kind === 'c') this.counter(row, cells);
    else if (kind === 'l') this.log(row, cells);
    else this.parts.set(id, (this.parts.get(id) ?? 0) + 1);
  }

  /** Batches and loads are there whole. */
  end(): void {
    for (const [id, count] of this.parts) {
      if (count !== batchRows(id) && count !== LOAD_ROWS) throw new Error(`${count} rows of change ${id}`);
      this.changes.add(id);
    }
  }

  private add(id: number): void {
    if (this.changes.has(id)) throw new Error(`change ${id} is there twice`);
    this.changes.add(id);
  }

  private both(row: string, cells: Map<string, Uint8Array>, id: number): void {
    const [a, b] = [cells.get('a:v'), cells.get('b:v')];
    if (a === undefined || b === undefined) throw new Error(`${row} is half there`);
    if (numberOf(a) !== id || numberOf(b) !== id) throw new Error(`${row} has the value of another`);
    this.add(id);
  }

  private shared(row: string, cells: Map<string, Uint8Array>): void {
    for (const column of cells.keys()) if (column.startsWith('a:m')) this.add(Number(column.slice(3)));
    const [a, b] = [cells.get('a:v'), cells.get('b:v')];
    if (a === undefined && b === undefined) return;
    if (a === undefined || b === undefined || numberOf(a) !== numberOf(b))
      throw new Error(`${row} has parts of two changes: ${a && numberOf(a)}, ${b && numberOf(b)}`);
    this.values.set(row, numberOf(a));
  }

  private counter(row: string, cells: Map<string, Uint8Array>): void {
    let sum = 0;
    for (const [column, value] of cells) {
      if (!column.startsWith('b:m')) continue;
      const id = Number(column.slice(3));
      if (counterOf(value) !== 1) throw new Error(`${row} counts change ${id} ${counterOf(value)} times`);
      this.add(id);
      sum += id;
    }
    const total = cells.get('b:n');
    if (total === undefined || counterOf(total) !== sum)
      throw new Error(`${row} is ${total && counterOf(total)}; its changes add up to ${sum}`);
  }

  private log(row: string, cells: Map<string, Uint8Array>): void {
    const text = toLatin1(cells.get('a:l')!);
    if (!text.endsWith(';')) throw new Error(`${row} ends within a change`);
    for (const id of text.slice(0, -1).split(';')) this.add(Number(id));
  }
}

/** Values begin with the number of their change. */
function numberOf(value: Uint8Array): number {
  return Number.parseInt(toLatin1(value), 10);
}

function counterOf(value: Uint8Array): number {
  return Number(Buffer.from(value).readBigInt64BE());
}
