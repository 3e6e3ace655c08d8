/** Writes of the log in one turn of the event loop, before the rest of the program has its turn. */
const WRITES_A_TURN = 64;

/**
 * Lets the event loop turn. What is written without a sync is acknowledged without leaving the turn, so that a client which
 * awaits one put after the other would never leave it either: no timer would run, no file be flushed, and the log would
 * not get its next segment.
 */
export class TurnShare {
  private used = 0;

  /** Runs the task behind the work at hand, or where this turn has had its share, in the next one. */
  soon(task: () => void): void {
    if (this.used === WRITES_A_TURN) {
      setImmediate(task);
      return;
    }
    if (this.used++ === 0) {
      setImmediate(() => {
        this.used = 0;
      });
    }
    queueMicrotask(task);
  }
}
