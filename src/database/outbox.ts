/** What is still to follow changes of rows: one interface, for the embedded engine notes less of it. */

/** How an outbox is emptied. */
export interface DrainOptions {
  /**
   * HBase only: milliseconds after which a change that was noted is nobody's who may still write its row. Default 30,000;
   * less only while nobody writes.
   */
  readonly settledAfter?: number;
}

export interface Outbox {
  /** Has it emptied, without waiting for it. */
  kick(): void;
  /** Resolves when what waited at the call is done. */
  drain(options?: DrainOptions): Promise<void>;
  /** What waits. */
  pending(): Promise<number>;
  /** Stops between two steps; what is left is done when the database is opened next. */
  end(): Promise<void>;
}
