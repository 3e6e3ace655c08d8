/** The names of a store's files. One counter gives the numbers of all kinds of files, so that no number is used twice. */

export const CURRENT_FILE = 'CURRENT';
export const CURRENT_TEMPORARY_FILE = 'CURRENT.tmp';
/** In the folder of a checkpoint until the checkpoint is complete. */
export const CHECKPOINT_FILE = 'CHECKPOINT';

export type StoreFileKind =
  | 'wal'
  | 'sorted'
  | 'manifest'
  | 'current'
  | 'lock'
  /** A file that is being written, and is renamed when it is complete. */
  | 'temporary'
  | 'checkpoint';

export interface StoreFileName {
  readonly kind: StoreFileKind;
  /** 0 for files without a number. */
  readonly number: number;
}

/** `000007.wal` */
export function walFileName(number: number): string {
  return `${sixDigits(number)}.wal`;
}

/** `000007.sst` */
export function sortedFileName(number: number): string {
  return `${sixDigits(number)}.sst`;
}

/** `MANIFEST-000007` */
export function manifestFileName(number: number): string {
  return `MANIFEST-${sixDigits(number)}`;
}

/** `000007.wal.tmp`: the valid prefix of a damaged log, which replaces the log once it is synced. */
export function walTemporaryName(number: number): string {
  return `${walFileName(number)}.tmp`;
}

/** The kind and number of a file by its name; undefined for names that no store uses. */
export function parseStoreFileName(name: string): StoreFileName | undefined {
  if (name === CURRENT_FILE) return { kind: 'current', number: 0 };
  if (name === CURRENT_TEMPORARY_FILE) return { kind: 'temporary', number: 0 };
  if (name === CHECKPOINT_FILE) return { kind: 'checkpoint', number: 0 };
  if (name === 'LOCK' || name === 'LOCK.sock' || name === 'READERS.sock') return { kind: 'lock', number: 0 };
  if (name.endsWith('.wal.tmp')) {
    const log = parseStoreFileName(name.slice(0, -4));
    return log && { kind: 'temporary', number: log.number };
  }
  const match = /^(?:MANIFEST-(\d{6,16})|(\d{6,16})\.(wal|sst))$/.exec(name);
  if (match === null) return undefined;
  const number = Number(match[1] ?? match[2]);
  const kind = match[1] !== undefined ? 'manifest' : match[3] === 'wal' ? 'wal' : 'sorted';
  const written =
    kind === 'manifest'
      ? manifestFileName(number)
      : kind === 'wal'
        ? walFileName(number)
        : sortedFileName(number);
  return written === name ? { kind, number } : undefined;
}

function sixDigits(number: number): string {
  return String(number).padStart(6, '0');
}
