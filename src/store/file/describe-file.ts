/** What blocks a sorted file is made of, for support tools. */

import { compressionOfId } from '../../compression/index.js';
import type { Compression, DataBlockEncoding } from '../../table/index.js';
import { encodingOfId } from '../encoding/index.js';
import { readBlock } from './block-frame.js';
import type { BlockIndex } from './block-index.js';
import { BlockType, FOOTER_BYTES } from './file-format.js';
import type { SortedFileReader } from './sorted-file-reader.js';

export type BlockKind = 'data' | 'leafIndex' | 'rootIndex' | 'bloomChunk' | 'bloomIndex' | 'meta' | 'footer';

export interface BlockDescription {
  readonly kind: BlockKind;
  readonly offset: number;
  /** Bytes in the file, header included. */
  readonly length: number;
  /** Bytes of the payload before compression. */
  readonly rawLength: number;
  readonly codec: Compression;
  readonly encoding: DataBlockEncoding;
}

const KINDS: Readonly<Record<number, BlockKind>> = {
  [BlockType.Data]: 'data',
  [BlockType.LeafIndex]: 'leafIndex',
  [BlockType.RootIndex]: 'rootIndex',
  [BlockType.BloomChunk]: 'bloomChunk',
  [BlockType.BloomIndex]: 'bloomIndex',
  [BlockType.Meta]: 'meta',
};

/**
 * Every block of the file in the order in which they stand, the footer last. Reads and verifies each of them.
 * @throws CorruptionError when one is not what was written.
 */
export function* describeBlocks(reader: SortedFileReader): Generator<BlockDescription> {
  const places = blockPlaces(reader).sort((a, b) => a.offset - b.offset);
  for (const { offset, length } of places) {
    const block = readBlock(reader.file, reader.fileNo, offset, length);
    yield {
      kind: KINDS[block.type] ?? 'data',
      offset,
      length,
      rawLength: block.rawLength,
      codec: compressionOfId(block.codec) ?? 'NONE',
      encoding: encodingOfId(block.encoding) ?? 'NONE',
    };
  }
  yield {
    kind: 'footer',
    offset: reader.size - FOOTER_BYTES,
    length: FOOTER_BYTES,
    rawLength: FOOTER_BYTES,
    codec: 'NONE',
    encoding: 'NONE',
  };
}

/** Where every block but the footer is, by the indexes. */
export function blockPlaces(reader: SortedFileReader): { offset: number; length: number }[] {
  const { footer, root, bloomIndex } = reader;
  const places = [...entries(root), footer.root, footer.meta];
  if (reader.twoLevels) for (let i = 0; i < root.count; i++) places.push(...entries(reader.leaf(i)));
  if (bloomIndex) places.push(...entries(bloomIndex), footer.bloom);
  return places;
}

function entries(index: BlockIndex): { offset: number; length: number }[] {
  return Array.from({ length: index.count }, (_, i) => ({
    offset: index.offsets[i]!,
    length: index.lengths[i]!,
  }));
}
