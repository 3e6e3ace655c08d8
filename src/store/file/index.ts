export { BloomKey } from './bloom-key.js';
export { type BlockDescription, type BlockKind, describeBlocks } from './describe-file.js';
export type { FileMeta, WrittenFile } from './file-meta.js';
export { fileNumberOf } from './footer.js';
export { type FileMetaJson, fileMetaFromJson, fileMetaToJson } from './meta-json.js';
export type {
  FileContext,
  FileCursorOptions,
  SortedFileReaderOptions,
  SortedFileWriterOptions,
} from './options.js';
export { SortedFileCursor } from './sorted-file-cursor.js';
export { SortedFileReader } from './sorted-file-reader.js';
export { SortedFileWriter } from './sorted-file-writer.js';
export { type VerifiedFile, verifySortedFile, verifySteps } from './verify-file.js';
