import { RowanError } from '../../errors.js';

/** Conditions that pass when something is freed: the same call may succeed later. */
const PASSING = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EAGAIN', 'EINTR', 'ENOMEM']);

const MENDS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full: free some space and try again.',
  EDQUOT: 'The disk quota is used up: free some space or raise the quota, and try again.',
  EMFILE: 'The process has too many open files: raise its limit (ulimit -n), and try again.',
  ENFILE: 'The system has too many open files: raise its limit, and try again.',
  EACCES: 'Check who owns the folder and its files, and what its user may do.',
  EPERM: 'Check who owns the folder and its files, and what its user may do.',
  EROFS: 'The disk is mounted read-only: mount it for writing, or move the store.',
  ENOENT: 'There is no such file or folder: check the path.',
  EEXIST: 'The name is taken: remove what is there, if it is not needed.',
  ESTALE:
    'The folder was renamed or replaced while the store was open: close the store, and open it where it is now.',
  EIO: 'The disk reported an error: look at the system log, and restore from a copy if the disk fails.',
};

/** An `ERR_IO` that says which call failed on which file and why; `details.call`, `details.errno` for programs. */
export function ioError(call: string, path: string, errno: string, cause?: unknown): RowanError {
  const mend = MENDS[errno] ?? 'The operating system refused the call: see the cause.';
  return new RowanError('ERR_IO', `Could not ${call} "${path}" (${errno}). ${mend}`, {
    cause,
    retryable: PASSING.has(errno),
    details: { file: path, call, errno },
  });
}

/** The system's code of an error that Node threw, or of an `ERR_IO`; "UNKNOWN" when it has none. */
export function errnoOf(error: unknown): string {
  if (error instanceof RowanError) return String(error.details['errno'] ?? 'UNKNOWN');
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'UNKNOWN';
}
