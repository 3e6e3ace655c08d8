/** The constants of sorted files. FROZEN: see docs/formats.md. */

export const FORMAT_VERSION = 1;
/** The last eight bytes of every sorted file: "ROWANSST". */
export const MAGIC: Uint8Array = Uint8Array.of(0x52, 0x4f, 0x57, 0x41, 0x4e, 0x53, 0x53, 0x54);

/** crc u32, type u8, codec u8, encoding u8, 0 u8, raw length u32, payload length u32. */
export const BLOCK_HEADER_BYTES = 16;
export const FOOTER_BYTES = 64;

/** What a block holds. */
export const BlockType = {
  Data: 1,
  LeafIndex: 2,
  RootIndex: 3,
  BloomChunk: 4,
  BloomIndex: 5,
  Meta: 6,
} as const;
export type BlockType = (typeof BlockType)[keyof typeof BlockType];

/** Entries of a leaf index; a file of fewer data blocks has a root index alone. */
export const LEAF_ENTRIES = 4096;

/** Kinds of index keys: which parts they have. The parts left out sort first. */
export const KeyKind = { Row: 0, Column: 1, Cell: 2 } as const;
export type KeyKind = (typeof KeyKind)[keyof typeof KeyKind];
