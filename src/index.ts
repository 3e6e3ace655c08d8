/** The public interface of rowan-orm. */

export * from '../decorators/index.js';
// The decorator has the name; the engines' interface is EngineTable here.
export { Table } from '../decorators/index.js';
export * from './bytes/index.js';
export * from './codec/index.js';
export * from './database.js';
export {
  createNamespaceStatements,
  createScript,
  createTableStatement,
  type EnsuredTables,
  schemaScript,
} from './ddl/index.js';
export * from './errors.js';
export * from './key/index.js';
export { compileSchema } from './mapper/index.js';
export * from './query/index.js';
export * from './repository/index.js';
export * from './schema/index.js';
export type { EmbeddedEngine } from './store/engine.js';
export type { EmbeddedOptions } from './store/options.js';
export type { Table as EngineTable } from './table/index.js';
export * from './table/index.js';
