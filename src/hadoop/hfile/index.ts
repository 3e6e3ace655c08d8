export { prepareHFileCodec } from './block.js';
export type { HFileCompression } from './format.js';
export { type HFileBlock, HFileReader } from './reader.js';
export { type HFileOptions, type HFileOutput, HFileWriter, type WrittenHFile } from './writer.js';
