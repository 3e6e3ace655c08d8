export { type CopyOptions, copyTable, type TableOf } from './copy.js';
export { countCells, countRows } from './count.js';
export { exportTable } from './export.js';
export { type ImportOptions, importTable } from './import.js';
export type { CellSelection, ToolOptions } from './selection.js';
export { type RowDifference, type VerifyOptions, verifyTables } from './verify.js';
