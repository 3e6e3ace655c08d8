export type { CellSelection, ToolOptions } from '../job/table-pass.js';
export {
  type BackupEntry,
  type BackupOptions,
  type BackupOutcome,
  backupTables,
  listBackups,
} from './backup.js';
export {
  type BulkFormat,
  type BulkItemOptions,
  type BulkLoadToolOptions,
  type BulkReadOptions,
  bulkLoadFiles,
  type MutationMaker,
} from './bulk-load.js';
export { type CopyOptions, copyTable, type TableOf } from './copy.js';
export { countCells, countRows } from './count.js';
export {
  type EntityExportOptions,
  type EntityImportOptions,
  exportEntities,
  importEntities,
} from './entity-files.js';
export { type ExportOptions, exportTable } from './export.js';
export { type HashTableOptions, hashTable } from './hash.js';
export { type ImportOptions, importTable } from './import.js';
export { type ImportTsvOptions, importTsv, type TsvOptions } from './import-tsv.js';
export { planRestore, type RestoreOptions, restoreTables } from './restore.js';
export { type RepairOptions, type SyncOptions, syncTables } from './sync.js';
export {
  entityMaker,
  type SynthFunction,
  type SynthOptions,
  type SynthValues,
  synthesize,
} from './synth.js';
export { type RowDifference, type VerifyOptions, verifyTables } from './verify.js';
