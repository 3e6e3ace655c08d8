/**
 * `rowan-orm/server`: an embedded store behind HBase's own protocol, for other processes, for HBase's shell, and for clients in Java and
 * other languages (docs/server.md). `rowan serve` is the command.
 */

export type { ServeOptions, ServeTls } from '../server/options.js';
export type { ServedUser, ServedUsers } from '../server/security/users.js';
export { type Servable, type ServerLoad, type StoreServer, serve } from '../server/server.js';
export { type EmbeddedEngine, openEmbedded } from '../store/engine.js';
