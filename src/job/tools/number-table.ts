/** The numbers from 0 to below a count, as rows of a table that a job can read. */

import { Cell, CellType, Result, type ResultScanner, Scan } from '../../table/index.js';
import type { JobReadable, RowRange } from '../types.js';

const LEAST_ROWS_OF_A_SPLIT = 20_000;
const MOST_SPLITS = 1000;

export class NumberTable implements JobReadable {
  readonly name = 'numbers';
  readonly ranges: readonly RowRange[];

  constructor(private readonly count: number) {
    const size = Math.max(LEAST_ROWS_OF_A_SPLIT, Math.ceil(count / MOST_SPLITS));
    this.ranges = Array.from({ length: Math.ceil(count / size) }, (_, at) => ({
      start: rowOfNumber(at * size),
      stop: rowOfNumber(Math.min(count, (at + 1) * size)),
    }));
  }

  wholeScan(): Scan {
    return new Scan();
  }

  scan({ startRow, stopRow, includeStartRow }: Scan): ResultScanner {
    const first = startRow.length === 0 ? 0 : numberOfRow(startRow) + (includeStartRow ? 0 : 1);
    return new NumberScanner(first, stopRow.length === 0 ? this.count : numberOfRow(stopRow));
  }
}

class NumberScanner implements ResultScanner {
  constructor(
    private at: number,
    private readonly end: number,
  ) {}

  async next(): Promise<Result | undefined> {
    return (await this.nextBatch(1))[0];
  }

  nextBatch(count: number): Promise<Result[]> {
    const rows: Result[] = [];
    for (; rows.length < count && this.at < this.end; this.at++) {
      const row = rowOfNumber(this.at);
      rows.push(new Result(row, [new Cell(row, 'n', row, 0, CellType.Put, row)]));
    }
    return Promise.resolve(rows);
  }

  close(): Promise<void> {
    this.at = this.end;
    return Promise.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Result, void> {
    for (let row = await this.next(); row !== undefined; row = await this.next()) yield row;
  }
}

function rowOfNumber(number: number): Uint8Array {
  const row = Buffer.alloc(8);
  row.writeBigUInt64BE(BigInt(number));
  return row;
}

export function numberOfRow(row: Uint8Array): number {
  return Number(Buffer.from(row.buffer, row.byteOffset, row.length).readBigUInt64BE());
}
