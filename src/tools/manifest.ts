import { createHash, randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonValue } from '../codec/index.js';
import { InvalidArgumentError } from '../errors.js';

/** The file that says what a folder of a tool's files holds. It is written last, so a folder without it is not whole. */

/** What every such file says. */
export interface FolderManifest {
  readonly format: string;
  readonly version: number;
  readonly files: readonly { readonly name: string; readonly bytes: number }[];
}

/** What a kind of folder is recognized by. */
export interface FolderKind {
  /** Name of the manifest's file. */
  readonly file: string;
  readonly format: string;
  readonly version: number;
  /** What the names of its files are like. */
  readonly names: RegExp;
  /** The tool that writes it, for messages. */
  readonly tool: string;
}

/** Writes a manifest so that it is there whole, or not at all; several workers may do so at the same time. */
export async function writeManifest(
  folder: string,
  kind: FolderKind,
  manifest: FolderManifest,
): Promise<void> {
  const path = join(folder, kind.file);
  const partial = `${path}.${randomUUID()}.partial`;
  await writeFile(partial, JSON.stringify(manifest, undefined, 2), { flush: true });
  await rename(partial, path);
}

/** Before files that it may name are written over. */
export async function removeManifest(folder: string, kind: FolderKind): Promise<void> {
  await rm(join(folder, kind.file), { force: true });
}

/** @throws InvalidArgumentError when there is no such folder, or one that is not as its manifest says. */
export async function readManifest<M extends FolderManifest>(folder: string, kind: FolderKind): Promise<M> {
  const path = join(folder, kind.file);
  let manifest: M;
  try {
    manifest = JSON.parse(await readFile(path, 'utf8')) as M;
  } catch (cause) {
    throw new InvalidArgumentError(
      `${path} cannot be read: the folder is none of \`rowan ${kind.tool}\`, or it did not end. Run it again; it goes on where it stood.`,
      { cause },
    );
  }
  const known = manifest?.format === kind.format && manifest.version === kind.version;
  const { files } = manifest ?? {};
  const listed = Array.isArray(files) && files.every((file) => typeof file === 'object' && file !== null);
  if (!known || !listed) {
    throw new InvalidArgumentError(`${path} is none of \`rowan ${kind.tool}\`, or of a newer version.`);
  }
  for (const file of manifest.files) await checkFile(folder, path, kind, file);
  return manifest;
}

async function checkFile(
  folder: string,
  path: string,
  kind: FolderKind,
  { name, bytes }: FolderManifest['files'][number],
): Promise<void> {
  const fits = typeof name === 'string' && kind.names.test(name);
  const size = fits
    ? await stat(join(folder, name)).then(
        (found) => found.size,
        () => undefined,
      )
    : undefined;
  if (size === bytes) return;
  throw new InvalidArgumentError(
    `${path} names ${JSON.stringify(name)} with ${bytes} bytes, and there are ${size ?? 'none'}. Copy the whole folder.`,
  );
}

/** What stands in the folder of an export beside its files. */

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
