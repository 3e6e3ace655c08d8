/**
 * `rowan-orm/bigtable`: entities on Google Cloud Bigtable (docs/bigtable.md). Needs the package `@google-cloud/bigtable`, which is
 * loaded when an instance is connected to.
 */

export type { BigtableAdmin } from '../bigtable/bigtable-admin.js';
export { type BigtableEngine, connectBigtableEngine } from '../bigtable/engine.js';
export type { BigtableOptions } from '../bigtable/options.js';
export { type BigtableConnectOptions, connectBigtable } from '../database/bigtable.js';
