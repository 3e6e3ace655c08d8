/** Files as sinks: one for each split, cut back to the checkpoint when a split is begun again. */

import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonValue } from '../../codec/index.js';
import { toTagged } from '../../mapper/tagged.js';
import type { Sink, SinkWriter } from './sink.js';

/**
 * Writes each item as a line of JSON into `part-<phase>-<split>.ndjson` of the folder, which is made when it is not there. What JSON
 * has no word for is written as `{"$date": …}`, `{"$bigint": …}`, `{"$bytes": …}`.
 */
export function ndjsonFiles(folder: string): Sink<unknown> {
  return {
    signature: `ndjson ${folder}`,
    async open({ split, resumed }) {
      await mkdir(folder, { recursive: true });
      const name = `part-${String(split).padStart(5, '0')}.ndjson`;
      const file = await open(join(folder, name), resumed === undefined ? 'w' : 'r+');
      const offset = (resumed as number | undefined) ?? 0;
      await file.truncate(offset);
      return new LineWriter(file, offset);
    },
  };
}

class LineWriter implements SinkWriter<unknown> {
  constructor(
    private readonly file: FileHandle,
    private offset: number,
  ) {}

  async write(items: readonly unknown[]): Promise<void> {
    const text = Buffer.from(items.map((item) => `${JSON.stringify(toTagged(item))}\n`).join(''));
    for (let at = 0; at < text.length; ) {
      const { bytesWritten } = await this.file.write(text, at, text.length - at, this.offset);
      at += bytesWritten;
      this.offset += bytesWritten;
    }
  }

  async commit(): Promise<JsonValue> {
    await this.file.datasync();
    return this.offset;
  }

  close(): Promise<void> {
    return this.file.close();
  }
}
