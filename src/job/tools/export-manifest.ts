/** What stands in the folder of an export beside its files. */

import { createHash } from 'node:crypto';
import type { JsonValue } from '../../codec/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { type FolderKind, type FolderManifest, readManifest } from './manifest.js';

/** A folder that an export is in. */
export const EXPORT_FOLDER: FolderKind = {
  file: 'export.json',
  format: 'rowan-cells',
  version: 1,
  names: /^part-\d+\.cells$/,
  tool: 'export',
};

/** What stands in its manifest. */
export interface ExportManifest extends FolderManifest {
  /** HBase's attributes of the table and its families, as `TableDescriptor` has them. */
  readonly table: JsonValue;
  /** Where the regions began, in hex. */
  readonly splits: readonly string[];
  readonly files: readonly ExportedFile[];
  /** When it ended, milliseconds since 1970; exports of older versions do not say. */
  readonly ended?: number;
}

export interface ExportedFile {
  readonly name: string;
  readonly bytes: number;
  readonly rows: number;
  readonly cells: number;
}

/** @throws InvalidArgumentError when the folder holds no whole export, or one whose manifest does not say what it has to. */
export async function readExportManifest(folder: string): Promise<ExportManifest> {
  const manifest = await readManifest<ExportManifest>(folder, EXPORT_FOLDER);
  const { table, splits, files } = manifest;
  const lacks = !isTable(table)
    ? 'which table it is of'
    : !Array.isArray(splits) || !splits.every((at) => typeof at === 'string' && /^(?:[0-9a-f]{2})+$/.test(at))
      ? 'where its regions began'
      : files.every(({ rows }) => Number.isSafeInteger(rows) && rows >= 0)
        ? undefined
        : 'how many rows its files have';
  if (lacks === undefined) return manifest;
  throw new InvalidArgumentError(
    `${EXPORT_FOLDER.file} of ${folder} does not say ${lacks}. Export the table again.`,
  );
}

function isTable(table: unknown): boolean {
  const { name, families } = (table ?? {}) as { name?: unknown; families?: unknown };
  return (
    typeof name === 'string' &&
    Array.isArray(families) &&
    families.every((family: unknown) => typeof (family as { name?: unknown } | null)?.name === 'string')
  );
}

/** A text that only this export has: a job that was begun with another one in the same folder is not gone on with. */
export function exportIdentity(manifest: ExportManifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex').slice(0, 16);
}
