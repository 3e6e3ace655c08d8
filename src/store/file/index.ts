export { BloomKey } from './bloom-filter.js';
export {
  type FileMeta,
  type FileMetaJson,
  fileMetaFromJson,
  fileMetaToJson,
  type WrittenFile,
} from './file-meta.js';
export { fileNumberOf } from './footer.js';
export type {
  FileContext,
  FileCursorOptions,
  SortedFileReaderOptions,
  SortedFileWriterOptions,
} from './options.js';
export { SortedFileCursor } from './sorted-file-cursor.js';
export { SortedFileReader } from './sorted-file-reader.js';
export { SortedFileWriter } from './sorted-file-writer.js';
export {
  type BlockDescription,
  type BlockKind,
  describeBlocks,
  type VerifiedFile,
  verifySortedFile,
  verifySteps,
} from './verify-file.js';
