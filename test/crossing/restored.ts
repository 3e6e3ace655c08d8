/** A store that the tables of another one were restored to. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import type { EmbeddedOptions } from '../../src/store/options.js';
import { backupTables } from '../../src/tools/backup.js';
import { restoreTables } from '../../src/tools/restore.js';

/** Makes a store of a full backup of all tables of one moment, as `rowan backup` and `rowan restore` do. */
export async function restoredTables(
  engine: EmbeddedEngine,
  path: string,
  options: EmbeddedOptions,
  fileSystem = options.fileSystem!,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-restored-'));
  const own = { ...options, background: 'inline' } as const;
  await engine.checkpoint(`${path}.moment`);
  const source = await openEmbedded(`${path}.moment`, own);
  await backupTables(source, folder);
  await source.close();
  const target = await openEmbedded(path, { ...own, fileSystem });
  await restoreTables(target, folder);
  await target.close();
  await rm(folder, { recursive: true });
}
