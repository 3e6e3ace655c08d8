/** A database without a disk. */

import { type Database, type OpenOptions, open } from '../database.js';
import type { EmbeddedEngine } from '../store/engine.js';
import { MemoryFileSystem } from './fs/memory-fs.js';

/** Options of {@link openMemory}: those of `open`, and the disk in place of the folder. */
export interface MemoryOptions extends Omit<OpenOptions, 'path' | 'fileSystem' | 'background'> {
  /**
   * The disk in memory; default a new one. Give the same one to open again what was closed, or the answer of its `crash`
   * to see what a loss of power leaves.
   */
  readonly disk?: MemoryFileSystem;
}

/**
 * Opens the embedded engine on a disk in memory: the same engine, the same rules and bytes, and nothing is left behind.
 * Each call has a store of its own, so tests can run side by side. Flushes and compactions run in this thread.
 * @throws SchemaError as `open`.
 *
 * @example
 * ```ts
 * const db = await openMemory({ entities: [Customer, Order] });
 * ```
 */
export async function openMemory(options: MemoryOptions): Promise<Database<EmbeddedEngine>> {
  const { disk = new MemoryFileSystem(), ...rest } = options;
  return open({ ...rest, path: '/memory', fileSystem: disk, background: 'inline' });
}
