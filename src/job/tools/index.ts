export {
  type BackupEntry,
  type BackupOptions,
  type BackupOutcome,
  backupTables,
  listBackups,
  type RestoreOptions,
  restoreTables,
} from './backup.js';
export { type CopyOptions, copyTable, type TableOf } from './copy.js';
export { countCells, countRows } from './count.js';
export {
  type EntityExportOptions,
  type EntityImportOptions,
  exportEntities,
  importEntities,
} from './entity-files.js';
export { exportTable } from './export.js';
export { type ImportOptions, importTable } from './import.js';
export { type ImportTsvOptions, importTsv } from './import-tsv.js';
export type { CellSelection, ToolOptions } from './selection.js';
export { type RowDifference, type VerifyOptions, verifyTables } from './verify.js';
