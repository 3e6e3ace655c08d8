import { randomUUID } from 'node:crypto';
import { realpath, rm } from 'node:fs/promises';
import { isAbsolute, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CorruptionError } from '../../errors.js';
import { tableNameText } from '../../hbase/admin/table-codec.js';
import {
  BulkLoadHFileRequest,
  BulkLoadHFileResponse,
  CleanupBulkLoadRequest,
  PrepareBulkLoadRequest,
  PrepareBulkLoadResponse,
} from '../../hbase/wire/messages-operations.js';
import { Empty, type TypeOf } from '../../hbase/wire/schema.js';
import type { Cell } from '../../table/index.js';
import { JavaClass, refused, ServerException } from '../errors.js';
import type { ServedRegion } from '../regions/served-regions.js';
import type { Service } from '../rpc/request.js';
import { checkWritableTable, type ServerParts } from './parts.js';
import { method } from './registry-service.js';

type LoadRequest = TypeOf<typeof BulkLoadHFileRequest>;

/** A file has rows of another region: the client divides it, or looks the regions up again. */
class OutsideRegion extends Error {}

/** Bulk load of HFiles from a folder of the server (HBase's `SecureBulkLoadManager`). */
export function bulkLoadService(parts: ServerParts): Service {
  return {
    preparebulkload: method(PrepareBulkLoadRequest, PrepareBulkLoadResponse, ({ tableName }) => {
      checkWritableTable(parts, tableNameText(tableName));
      folderOf(parts);
      // Files are read where they are, so the token names no folder.
      return { bulkToken: randomUUID() };
    }),
    bulkloadhfile: method(BulkLoadHFileRequest, BulkLoadHFileResponse, (request) => load(parts, request)),
    cleanupbulkload: method(CleanupBulkLoadRequest, Empty, () => ({})),
  };
}

function folderOf({ settings }: ServerParts): string {
  if (settings.bulkLoad !== undefined) return settings.bulkLoad;
  throw refused(
    'This server loads no files. Start it with the folder whose files may be loaded (rowan serve --bulk-load FOLDER), or use ' +
      'rowan bulkload while the store is not served.',
  );
}

/** Loads the files of one region: all of their cells, or none. Unless they are copied, they are removed then, as HBase moves them. */
async function load(parts: ServerParts, request: LoadRequest): Promise<{ loaded: boolean }> {
  const served = parts.regions.open(request.region);
  checkWritableTable(parts, served.state.name);
  const folder = folderOf(parts);
  const files: string[] = [];
  for (const { family, path } of request.familyPath ?? []) {
    checkFamily(served, Buffer.from(family).toString('utf8'), path);
    files.push(await fileWithin(folder, path));
  }
  if (files.length === 0) throw refused('A bulk load names no file.');
  const { mergedCells } = await import('../../hadoop/hfile/index.js');
  try {
    await parts.engine.bulkLoad(served.state.name, cellsWithin(served, mergedCells(files)));
  } catch (error) {
    if (error instanceof OutsideRegion) return { loaded: false };
    if (error instanceof CorruptionError)
      throw new ServerException(JavaClass.CorruptHFile, `${error.message} Nothing was loaded.`);
    throw error;
  }
  if (request.copyFile !== true) await Promise.all(files.map((file) => rm(file, { force: true })));
  return { loaded: true };
}

function checkFamily({ state }: ServedRegion, family: string, path: string): void {
  if (state.familyNumbers.has(family)) return;
  throw new ServerException(
    JavaClass.NoSuchColumnFamily,
    `The table ${state.name} has no family ${JSON.stringify(family)}, for which ${path} is to be loaded. Nothing was loaded.`,
  );
}

/**
 * The real path of a file to load.
 * @throws ServerException when it is not in the folder, which tells nothing of files outside of it.
 */
async function fileWithin(folder: string, path: string): Promise<string> {
  const local = localPath(path);
  const file = local === undefined ? undefined : await realpath(local).catch(() => undefined);
  const inside = await realpath(folder).catch(() => undefined);
  if (
    file !== undefined &&
    inside !== undefined &&
    file.startsWith(inside.endsWith(sep) ? inside : inside + sep)
  )
    return file;
  throw refused(
    `${path} is no file in the folder from which this server loads files. Write them there and give their paths as file: URIs. ` +
      'Nothing was loaded.',
  );
}

function localPath(path: string): string | undefined {
  if (isAbsolute(path)) return path;
  try {
    return fileURLToPath(path);
  } catch {
    return undefined;
  }
}

/** The cells. @throws OutsideRegion at the first one that is not in the region. */
async function* cellsWithin(
  { region }: ServedRegion,
  lists: AsyncIterable<readonly Cell[]>,
): AsyncGenerator<readonly Cell[], void> {
  for await (const cells of lists) {
    // Sorted by row: the first and the last decide.
    if (cells.length > 0 && !(region.contains(cells[0]!.row) && region.contains(cells.at(-1)!.row)))
      throw new OutsideRegion();
    yield cells;
  }
}
