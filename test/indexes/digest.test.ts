/** Digests of rows and entries: in parts, and continued. */

import { expect, test } from 'vitest';
import { DigestWork, EntryDigest } from '../../src/features/indexes/jobs/digest.js';
import type { SplitContext } from '../../src/job/types.js';
import { RawRow } from '../../src/table/index.js';

const rowOf = (i: number, text = `${i}`): RawRow => {
  const [raw, value] = [new RawRow(), Buffer.from(text)];
  raw.begin(Buffer.from(`row ${i}`));
  raw.add('d', Buffer.from('q'), 1, value, 0, value.length);
  return raw;
};

const rows = Array.from({ length: 40 }, (_, i) => rowOf(i));

function add({ row, bytes, starts, ends }: RawRow, digest: EntryDigest): void {
  digest.countRow(row.at(-1)! % 4);
  digest.add(row.at(-1)! % 4, row, bytes, starts[0]!, ends[0]!);
}

/** The digest of some rows, on top of a stored one. */
function digestOf(some: readonly RawRow[], resumed?: SplitContext['resumed']) {
  const work = new DigestWork(add, { resumed } as SplitContext);
  for (const row of some) work.raw.row(row);
  return work.commit();
}

const whole = EntryDigest.of([digestOf(rows)]);

test('a digest that is continued from a checkpoint, or divided among splits, is that of all rows', () => {
  const [some, others] = [rows.slice(0, 17), rows.slice(17).reverse()];
  const both = [
    EntryDigest.of([digestOf(others, digestOf(some))]),
    EntryDigest.of([digestOf(some), digestOf(others)]),
  ];
  for (const digest of both) {
    const found = digest.differences(whole);
    expect([found.isEmpty, found.equalRows, found.equalEntries]).toEqual([true, 40, 40]);
  }
});

test('a row that is missing, or has another value, makes its bucket alone differ', () => {
  // Rows that end in 0, 4 and 8 share a bucket.
  const rest = rows.slice(1);
  for (const some of [rest, [rowOf(0, 'other'), ...rest]]) {
    const found = whole.differences(EntryDigest.of([digestOf(some)]));
    expect([found.isEmpty, found.equalRows]).toEqual([false, 28]);
  }
});
