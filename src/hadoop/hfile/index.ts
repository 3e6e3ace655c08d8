export { prepareHFileCodec } from './block.js';
export type { HFileCompression } from './format.js';
export { compareInRow, mergedCells } from './merge.js';
export { type HFileBlock, HFileReader } from './reader.js';
export { type HFileOptions, type HFileOutput, HFileWriter, type WrittenHFile } from './writer.js';
