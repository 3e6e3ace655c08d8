/** The WAL and the MANIFEST together: the order in which changes are recorded, and whether the store is writable. */

import { RowanError } from '../../errors.js';
import type { Edit, Manifest } from '../manifest/index.js';
import type { Wal } from '../wal/index.js';

export class Journal {
  constructor(
    readonly wal: Wal,
    readonly manifest: Manifest,
    private readonly rowClock: { readonly highest: number },
  ) {}

  /**
   * Why the store accepts no more changes, whichever of the two failed; undefined while both work. A failure of one stops both: a
   * segment that cannot be recorded in the MANIFEST would be lost.
   */
  get poisoned(): RowanError | undefined {
    return this.wal.poisoned ?? this.manifest.poisoned;
  }

  /** @throws RowanError `ERR_READONLY` when the store accepts no more changes. */
  checkWritable(): void {
    const cause = this.poisoned;
    if (cause !== undefined) throw readOnlyError(cause);
  }

  /** Resolves when everything appended before the call is on the disk. */
  sync(): Promise<void> {
    return this.wal.sync();
  }

  /**
   * Records edits. When it resolves, the edits and every write before them are on the disk: a crash never loses an earlier
   * write and keeps a later edit.
   */
  async record(edits: readonly Edit[]): Promise<void> {
    this.checkWritable();
    await this.wal.sync();
    await this.logAsync(edits);
  }

  /** Like `Manifest.logAsync`, for callers that have synced the writes before. */
  async logAsync(edits: readonly Edit[]): Promise<void> {
    await this.manifest.logAsync([...edits, this.clockEdit()]);
  }

  /** Like `Manifest.log`. */
  log(edits: readonly Edit[]): void {
    this.manifest.log([...edits, this.clockEdit()]);
  }

  /** The clock that the log recorded must be kept when the log is removed. */
  private clockEdit(): Edit {
    return { type: 'counters', clock: this.rowClock.highest };
  }
}

/** The error for changes after a disk failure that leaves it unknown what is on the disk. */
export function readOnlyError(cause: RowanError): RowanError {
  return new RowanError(
    'ERR_READONLY',
    `The store accepts no more writes: ${cause.message} Acknowledged writes are safe.`,
    { cause, details: cause.details },
  );
}
