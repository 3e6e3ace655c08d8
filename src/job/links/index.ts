export type { RemoteRows } from '../entity-rows.js';
