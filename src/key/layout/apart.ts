/** Whether rows of two layouts can be told apart: whether no row is of both. */

import type { Step } from './step.js';

/** What a row holds at one place: one byte, always the same or any, or a value whose end is found by a rule. */
type Piece =
  | { readonly kind: 'byte'; readonly always: number | undefined }
  | { readonly kind: 'value'; readonly ending: string; readonly least: number };

/**
 * Whether the layouts say of every row at most one of the two. Proved by a byte that differs at a place that both find in
 * the same way, from the left or from the right, or by rows of other lengths; false means that there is no such proof.
 */
export function areApart(left: readonly Step[], right: readonly Step[]): boolean {
  const a = piecesOf(left);
  const b = piecesOf(right);
  return differ(a, b, sameEnding) || differ(a.reverse(), b.reverse(), () => false);
}

function piecesOf(steps: readonly Step[]): Piece[] {
  return steps.flatMap((step): Piece[] => {
    if (step.width === undefined) return [{ kind: 'value', ...step.ends! }];
    return Array.from({ length: step.width }, (_, i) => ({ kind: 'byte', always: step.constant?.[i] }));
  });
}

function differ(
  a: readonly Piece[],
  b: readonly Piece[],
  together: (a: Piece, b: Piece) => boolean,
): boolean {
  const both = Math.min(a.length, b.length);
  for (let i = 0; i < both; i++) {
    const one = a[i]!;
    const other = b[i]!;
    if (one.kind === 'byte' && other.kind === 'byte') {
      if (one.always !== undefined && other.always !== undefined && one.always !== other.always) return true;
    } else if (!together(one, other)) {
      return false;
    }
  }
  return leastLength(a.slice(both)) + leastLength(b.slice(both)) > 0;
}

/** Whether both values end at the same byte, if they begin at the same. */
function sameEnding(a: Piece, b: Piece): boolean {
  return a.kind === 'value' && b.kind === 'value' && a.ending === b.ending;
}

function leastLength(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, piece) => sum + (piece.kind === 'byte' ? 1 : piece.least), 0);
}
