/** Told of what becomes of records, by their last number, before those who wait for it by a promise. */
export interface LogObserver {
  /** Records up to `seq` are with the operating system. */
  recordsWritten(seq: number): void;
  /** A sync of what is written begins. */
  syncBegins(): void;
  /** It has ended; `everything`: what was written while it ran is on the disk, too. */
  syncEnded(everything: boolean): void;
  /** What was staged is gone. */
  stagedLost(error: unknown): void;
  /** Nothing more is written, and of what is not synced nobody knows. */
  logEnded(error: unknown): void;
}
