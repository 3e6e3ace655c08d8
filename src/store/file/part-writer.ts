import { crc32 } from '../../bytes/index.js';
import { BLOCK_HEADER_BYTES, BlockType, checksumSeed } from './block-frame.js';
import type { BlockPlace, FileOutput } from './file-output.js';
import type { IndexKey } from './index-key.js';
import { GROUP_BLOCKS, MAX_PARTS, PartGroupBuilder, PartGroupPlaces } from './part-index.js';

interface OpenPart {
  readonly key: IndexKey;
  /** Its start in the payload, and the index of its first cell in the block. */
  readonly start: number;
  readonly firstCell: number;
}

/** Writes the parts of a file: collects those of the open block, and of closed blocks whose group is not full. */
export class PartWriter {
  private readonly group = new PartGroupBuilder();
  private readonly places: BlockPlace[] = [];
  private readonly partBytes: number;
  private open: OpenPart[] = [];

  constructor(
    private readonly output: FileOutput,
    private readonly fileNo: number,
    { blockSize, partBytes }: { readonly blockSize: number; readonly partBytes: number },
  ) {
    this.partBytes = Math.max(partBytes, Math.ceil(blockSize / MAX_PARTS));
  }

  /** Whether the open part is full, when the block's payload has `length` bytes. */
  isFull(length: number): boolean {
    return length - this.open.at(-1)!.start >= this.partBytes;
  }

  /** Begins a part at the next cell. */
  begin(key: IndexKey, start: number, firstCell: number): void {
    this.open.push({ key, start, firstCell });
  }

  /** Adds the parts of a block that is about to be written; its cells are the first `cellsEnd` bytes of `payload`. */
  closeBlock(payload: Uint8Array, cellsEnd: number, cells: number): void {
    const { open, output } = this;
    const payloadAt = output.offset + BLOCK_HEADER_BYTES;
    this.group.addBlock(
      open.map(({ key, start, firstCell }, i) => {
        const next = open[i + 1];
        const end = next?.start ?? cellsEnd;
        const seed = checksumSeed(this.fileNo, payloadAt + start);
        return {
          key,
          end,
          cells: (next?.firstCell ?? cells) - firstCell,
          crc: crc32(payload, start, end - start, seed),
        };
      }),
    );
    this.open = [];
  }

  /** Called after a block: writes the group when it is full. */
  closeGroup(): void {
    if (this.group.blocks === GROUP_BLOCKS) this.writeGroup();
  }

  /** Writes the last group and the index of the groups; returns the position of the index. */
  finish(): BlockPlace {
    if (this.group.blocks > 0) this.writeGroup();
    const payload = PartGroupPlaces.payload(this.places);
    return this.output.block(BlockType.PartIndex, payload, payload.length);
  }

  private writeGroup(): void {
    const payload = this.group.finish();
    this.places.push(this.output.block(BlockType.PartGroup, payload, payload.length));
  }
}
