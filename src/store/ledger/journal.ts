/** The log of writes and the MANIFEST together: what is recorded, in which order, and when no more can be. */

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
   * Why the store takes no more changes, whichever of the two failed; undefined while all is well. What one of them lost
   * is lost to both: a write in a log that cannot be recorded has nowhere to go.
   */
  get poisoned(): RowanError | undefined {
    return this.wal.poisoned ?? this.manifest.poisoned;
  }

  /** @throws RowanError `ERR_READONLY` when the store takes no more changes. */
  checkWritable(): void {
    const cause = this.poisoned;
    if (cause !== undefined) throw readOnlyError(cause);
  }

  /** Resolves when everything appended before the call is on the disk. */
  sync(): Promise<void> {
    return this.wal.sync();
  }

  /**
   * Edits that are on the disk when this resolves, and every write before them: a crash never takes back an earlier
   * change and leaves a later one.
   */
  async record(edits: readonly Edit[]): Promise<void> {
    this.checkWritable();
    await this.wal.sync();
    await this.logAsync(edits);
  }

  /** As `Manifest.logAsync`: for who has seen to the writes before. */
  async logAsync(edits: readonly Edit[]): Promise<void> {
    await this.manifest.logAsync([...edits, this.clockEdit()]);
  }

  /** As `Manifest.log`. */
  log(edits: readonly Edit[]): void {
    this.manifest.log([...edits, this.clockEdit()]);
  }

  /** What the log has told of the clock must outlive the log. */
  private clockEdit(): Edit {
    return { type: 'counters', clock: this.rowClock.highest };
  }
}

/** The error of every change once a disk failure has left it unknown what is on the disk. */
export function readOnlyError(cause: RowanError): RowanError {
  return new RowanError(
    'ERR_READONLY',
    `The store takes no more writes: ${cause.message} Reads go on. Acknowledged writes are safe.`,
    { cause, details: cause.details },
  );
}
