/** NEW_VERSION_BEHAVIOR: a row's history written again, one change after the other (R79-R82). */

import { covers, isPut, type StoredCell } from './cells.js';

/** The puts of one row and family that are left when each change takes effect at the time it is written. */
export function alivePuts(cells: readonly StoredCell[], versions: number): StoredCell[] {
  const bySeq = [...cells].sort((a, b) => a.seq - b.seq);
  let alive: StoredCell[] = [];
  for (let i = 0; i < bySeq.length; ) {
    const seq = bySeq[i]!.seq;
    const change: StoredCell[] = [];
    while (bySeq[i]?.seq === seq) change.push(bySeq[i++]!);
    for (const put of change.filter(isPut)) {
      alive = alive.filter((other) => other.qualifier !== put.qualifier || other.timestamp !== put.timestamp);
      alive.push(put);
    }
    // What no longer is among the newest is gone for good, even if the change itself deletes newer ones.
    alive = alive.filter((put) => newerThan(put, alive) < versions);
    for (const marker of change.filter((cell) => !isPut(cell))) {
      alive = alive.filter((put) => !covers(marker, put));
    }
  }
  return alive;
}

function newerThan(put: StoredCell, alive: readonly StoredCell[]): number {
  return alive.filter((other) => other.qualifier === put.qualifier && other.timestamp > put.timestamp).length;
}
