/** Random runs of cells for property tests, with a write number of its own for each cell. */

import fc from 'fast-check';
import type { RunCell } from './array-cursor.js';

const text = (choices: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...choices);

const cellArbitrary = fc.record({
  row: text(['a', 'ab', 'b', 'b\x00', '\xff']),
  qualifier: text(['', 'x', 'xy', 'y']),
  timestamp: fc.integer({ min: 1, max: 6 }),
  type: fc.constantFrom(4, 4, 4, 8, 10, 12, 14),
});

/** Cells with their seq; family markers have the empty qualifier. */
export const cellsArbitrary: fc.Arbitrary<RunCell[]> = fc
  .array(cellArbitrary, { maxLength: 40 })
  .map((cells) =>
    cells.map((cell, i) => ({
      ...cell,
      qualifier: cell.type === 10 || cell.type === 14 ? '' : cell.qualifier,
      seq: i + 1,
      value: cell.type === 4 ? `v${i}` : '',
    })),
  );

/** The same cells, dealt out to some runs. */
export function deal(cells: readonly RunCell[], runs: number, choices: readonly number[]): RunCell[][] {
  const out: RunCell[][] = Array.from({ length: runs }, () => []);
  cells.forEach((cell, i) => {
    out[(choices[i % choices.length] ?? 0) % runs]!.push(cell);
  });
  return out;
}
