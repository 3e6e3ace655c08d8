import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonValue } from '../codec/index.js';
import { atFile, InvalidArgumentError } from '../errors.js';
import { makeFolder } from '../folders.js';

// — The manifest: the file that describes a folder of a tool's files. It is written last, so a folder without it is
// incomplete.

/** The fields of every manifest. */
export interface FolderManifest {
  readonly format: string;
  readonly version: number;
  readonly files: readonly { readonly name: string; readonly bytes: number }[];
}

/** Describes a kind of folder. */
export interface FolderKind {
  /** File name of the manifest. */
  readonly file: string;
  readonly format: string;
  readonly version: number;
  /** Pattern of its other file names. */
  readonly names: RegExp;
  /** The tool that writes such folders, for messages. */
  readonly tool: string;
}

/** The folder that a new ext4 file system has. */
const NEW_DISK = 'lost+found';

/** Creates a folder if it is missing. @returns the name of a file in it that is not the tool's own; undefined if there is none. */
export function strangerIn(folder: string, isOwn: (name: string) => boolean): Promise<string | undefined> {
  return atFile(folder, async () => {
    makeFolder(folder);
    return (await readdir(folder)).find((name) => name !== NEW_DISK && !isOwn(name));
  });
}

/**
 * Creates a folder for a tool's output if it is missing.
 * @throws InvalidArgumentError when it has a file that is not the tool's, by its name.
 */
export async function ownFolder(
  folder: string,
  tool: string,
  isOwn: (name: string) => boolean,
): Promise<void> {
  const stranger = await strangerIn(folder, isOwn);
  if (stranger === undefined) return;
  throw new InvalidArgumentError(
    `${folder} has "${stranger}", which is no file of \`rowan ${tool}\` in this format. Give an empty or a new folder, or one with ` +
      'such files only: they are overwritten.',
  );
}

/** Whether a folder of the kind has files of this name, also while it is written. */
export function isFileOf({ file, names }: FolderKind, name: string): boolean {
  return name === file || name.startsWith(`${file}.`) || names.test(name);
}

/** Writes a manifest atomically. Several workers may do so at the same time. */
export function writeManifest(folder: string, kind: FolderKind, manifest: FolderManifest): Promise<void> {
  const path = join(folder, kind.file);
  return atFile(path, async () => {
    const partial = `${path}.${randomUUID()}.partial`;
    await writeFile(partial, JSON.stringify(manifest, undefined, 2), { flush: true });
    await rename(partial, path);
  });
}

/** Called before files that the manifest names are overwritten. */
export function removeManifest(folder: string, kind: FolderKind): Promise<void> {
  return atFile(folder, () => rm(join(folder, kind.file), { force: true }));
}

/**
 * Reads and checks a manifest.
 * @throws InvalidArgumentError when there is no such folder, or its files do not match its manifest.
 */
export async function readManifest<M extends FolderManifest>(folder: string, kind: FolderKind): Promise<M> {
  const path = join(folder, kind.file);
  let manifest: M;
  try {
    manifest = JSON.parse(await readFile(path, 'utf8')) as M;
  } catch (cause) {
    throw new InvalidArgumentError(
      `${path} cannot be read: the folder was not written by \`rowan ${kind.tool}\`, or that did not finish. Run it again to resume it.`,
      { cause },
    );
  }
  const known = manifest?.format === kind.format && manifest.version === kind.version;
  const { files } = manifest ?? {};
  const listed = Array.isArray(files) && files.every((file) => typeof file === 'object' && file !== null);
  if (!known || !listed) {
    throw new InvalidArgumentError(
      `${path} was not written by \`rowan ${kind.tool}\`, or by a newer version of it.`,
    );
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
    `${path} names ${JSON.stringify(name)} with ${bytes} bytes, but the file has ${size ?? 'none'}. Copy the whole folder.`,
  );
}

// — The manifest of an export.

/** The kind of a folder with an export. */
export const EXPORT_FOLDER: FolderKind = {
  file: 'export.json',
  format: 'rowan-cells',
  version: 1,
  names: /^part-\d+\.cells$/,
  tool: 'export',
};

/** The content of its manifest. */
export interface ExportManifest extends FolderManifest {
  /** Attributes of the table and its families in HBase's form, as in `TableDescriptor`. */
  readonly table: JsonValue;
  /** The start keys of the regions, in hex. */
  readonly splits: readonly string[];
  readonly files: readonly ExportedFile[];
  /** When it ended, in ms since 1970; missing in exports of older versions. */
  readonly ended?: number;
}

export interface ExportedFile {
  readonly name: string;
  readonly bytes: number;
  readonly rows: number;
  readonly cells: number;
}

/**
 * Reads the manifest of an export.
 * @throws InvalidArgumentError when the folder has no complete export, or the manifest lacks required fields.
 */
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

/** Identifies this export, so that a job is not resumed after the folder was replaced. */
export function exportIdentity(manifest: ExportManifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex').slice(0, 16);
}
