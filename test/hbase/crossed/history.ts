/** What rows may be after writers of the same rows at once, some of whose answers never came. */

export const GONE = 'there is no row';

interface Write {
  readonly becomes: string;
  readonly begun: number;
  ended: number;
  /** Whether it has certainly changed the row. */
  isMade: boolean;
}

/** Of one row: a write may have been the last one, if none that was certainly made has begun after its end. */
export class RowHistory {
  private writes: Write[] = [{ becomes: GONE, begun: 0, ended: 0, isMade: true }];

  begin(becomes: string, now: number): Write {
    const write = { becomes, begun: now, ended: Number.POSITIVE_INFINITY, isMade: false };
    this.writes.push(write);
    return write;
  }

  refuse(write: Write): void {
    this.writes = this.writes.filter((one) => one !== write);
  }

  /** What the row may be now. */
  get states(): string[] {
    const last = Math.max(...this.writes.map(({ isMade, begun }) => (isMade ? begun : -1)));
    return [...new Set(this.writes.filter(({ ended }) => ended >= last).map(({ becomes }) => becomes))];
  }

  /** No write is under way, and the row is this. */
  settle(is: string, now: number): void {
    this.writes = [{ becomes: is, begun: now, ended: now, isMade: true }];
  }
}
