/** Reads a file as the rows of a table, one after the other. */

import { type FileHandle, open } from 'node:fs/promises';
import type { Result, ResultScanner } from '../../table/index.js';

export abstract class FileScanner implements ResultScanner {
  protected handle: FileHandle | undefined;
  protected ended = false;

  constructor(protected readonly path: string) {}

  abstract next(): Promise<Result | undefined>;

  protected async openFile(): Promise<void> {
    this.handle = await open(this.path, 'r');
  }

  /** There are no more rows. */
  protected finish(): undefined {
    this.ended = true;
    return undefined;
  }

  async nextBatch(count: number): Promise<Result[]> {
    const rows: Result[] = [];
    while (rows.length < count) {
      const row = await this.next();
      if (row === undefined) break;
      rows.push(row);
    }
    return rows;
  }

  async close(): Promise<void> {
    this.ended = true;
    const { handle } = this;
    this.handle = undefined;
    await handle?.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Result, void> {
    try {
      for (let row = await this.next(); row !== undefined; row = await this.next()) yield row;
    } finally {
      await this.close();
    }
  }
}
