/** Writes sequence files (format.ts): blocks packed by deflate. */

import type { Result } from '../../table/index.js';
import { ByteBuilder } from '../writable.js';
import { KEY_CLASS, MAGIC, pack, SYNC_BYTES, VALUE_CLASS, WRITTEN_CODEC } from './format.js';
import { RecordBuilder } from './result-message.js';

/** Bytes of rows after which a block ends. */
const BLOCK_BYTES = 1 << 20;
const ESCAPE = -1;

/** What the bytes of one file are. `sync` marks where its blocks begin: 16 bytes that stand nowhere else in it. */
export class SequenceWriter {
  private readonly records = new RecordBuilder();

  constructor(private readonly sync: Uint8Array) {
    if (sync.length !== SYNC_BYTES) throw new RangeError(`a mark has ${SYNC_BYTES} bytes`);
  }

  header(): Buffer {
    const text = (value: string): Buffer => Buffer.from(value);
    return new ByteBuilder()
      .bytes(MAGIC)
      .vbytes(text(KEY_CLASS))
      .vbytes(text(VALUE_CLASS))
      .byte(1)
      .byte(1)
      .vbytes(text(WRITTEN_CODEC))
      .int(0)
      .bytes(this.sync)
      .copy();
  }

  /** Whole blocks of all these rows, in their order. */
  async blocks(rows: readonly Result[]): Promise<Buffer> {
    const blocks: Buffer[] = [];
    for (const [at, row] of rows.entries()) {
      this.records.add(row);
      if (this.records.size >= BLOCK_BYTES || at === rows.length - 1) blocks.push(await this.takeBlock());
    }
    return Buffer.concat(blocks);
  }

  private async takeBlock(): Promise<Buffer> {
    const { records, keyLengths, keys, valueLengths, values } = this.records;
    const parts = await Promise.all(
      [keyLengths, keys, valueLengths, values].map((each) => pack(each.view())),
    );
    const block = new ByteBuilder(256).int(ESCAPE).bytes(this.sync).vint(records);
    for (const part of parts) block.vbytes(part);
    this.records.clear();
    return block.copy();
  }
}
