/** What writer and reader of the linked list agree on. */

/** Rows that are written, each for itself, in one call. */
export const GROUP = 100;

export function rowOf(id: number): string {
  // Spread over the table, so that every region is written to.
  return `${(id * 2_654_435_761) % 1000}-${id}`;
}

export function idOf(row: string): number {
  return Number(row.slice(row.indexOf('-') + 1));
}
