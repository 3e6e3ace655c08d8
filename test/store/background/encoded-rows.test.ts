/** Flushes and compactions that copy rows whole write the same files, byte for byte, as those that pass on each cell. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareBytes } from '../../../src/bytes/index.js';
import { prepareCodecs } from '../../../src/compression/index.js';
import type { Job } from '../../../src/store/background/job.js';
import { CompactionScanner, JobRun } from '../../../src/store/background/job-run.js';
import { EncodedRow } from '../../../src/store/encoding/index.js';
import { SortedFileWriter } from '../../../src/store/file/sorted-file-writer.js';
import { SharedMemstoreCursor } from '../../../src/store/memstore/memstore-cursor.js';
import { familyDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';
import { ArrayCursor, anyCells, cell, memstoreOf, sorted, type TestCell } from '../file/cells.js';
import { write } from '../file/fixture.js';

const NOW = 1_700_000_050_000;
const OUTPUT = 9;

/** Mostly puts of different columns; values that end blocks and parts of blocks anywhere within a row. */
const entityCells = fc
  .array(
    fc.record({
      row: fc.integer({ min: 0, max: 30 }),
      columns: fc.oneof(
        { weight: 4, arbitrary: fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 80 }) },
        // With the rows of four letters cells of 256 bytes, which end where a block of 1024 does.
        { weight: 1, arbitrary: fc.array(fc.constant<number>(222), { minLength: 1, maxLength: 9 }) },
      ),
      timestamp: fc.constantFrom(NOW - 20_000, NOW - 10_000, NOW - 100, NOW),
      seq: fc.integer({ min: 1, max: 40 }),
      odd: fc.constantFrom(
        ...([
          {},
          {},
          {},
          {},
          {},
          { type: 8 },
          { type: 12 },
          { type: 14 },
          { ttl: 5 },
          { timestamp: 7 },
        ] as const),
      ),
      oddColumn: fc.nat(90),
      seqs: fc.constantFrom(1, 1, 3),
    }),
    { minLength: 1, maxLength: 40, size: 'max' },
  )
  .map((rows) =>
    sorted(
      rows.flatMap(({ row, columns, timestamp, seq, odd, oddColumn, seqs }) =>
        columns.map((length, i) =>
          cell(
            `row${'x'.repeat(row % 3)}${row}`,
            i === 3 && length % 2 > 0 ? '' : `c${i}`,
            timestamp,
            new Uint8Array(length).fill(i),
            {
              seq: seq + (i % seqs),
              ...(i === oddColumn ? odd : {}),
            },
          ),
        ),
      ),
    ),
  );

const familyOptions = fc.record({
  blockSize: fc.constantFrom(1024, 2600, 5000, 70_000),
  bloomFilter: fc.constantFrom('ROW', 'ROW', 'NONE', 'ROWCOL'),
  dataBlockEncoding: fc.constantFrom('NONE', 'NONE', 'NONE', 'NONE', 'ROW_INDEX_V1', 'FAST_DIFF'),
  compression: fc.constantFrom('NONE', 'NONE', 'LZ4'),
  versions: fc.constantFrom(1, 2),
  minVersions: fc.constantFrom(0, 0, 1),
  ttl: fc.constantFrom<number | 'FOREVER'>('FOREVER', 'FOREVER', 15),
  newVersionBehavior: fc.constantFrom(false, false, true),
} as const);

const jobs = fc.record({
  cells: fc.oneof({ weight: 4, arbitrary: entityCells }, { weight: 1, arbitrary: anyCells(60) }),
  family: familyOptions,
  /** 0: a flush. */
  inputs: fc.constantFrom(0, 0, 1, 2, 3),
  dealt: fc.constantFrom('rows', 'rows', 'ranges', 'cells'),
  inputEncoding: fc.constantFrom('NONE', 'NONE', 'NONE', 'ROW_INDEX_V1'),
  bulkLoaded: fc.constantFrom(false, false, false, true),
  major: fc.boolean(),
  range: fc.constantFrom<readonly [string, string]>(['', ''], ['', ''], ['rowx', ''], ['row1', 'rowxx2']),
  smallestReadPoint: fc.constantFrom(0, 20, 1000),
  pace: fc.constantFrom(1, 7, 100_000),
} as const);

type Trial = typeof jobs extends fc.Arbitrary<infer T> ? T : never;

/** The cells of each input. */
function dealOut({ cells, inputs, dealt }: Trial): TestCell[][] {
  const count = Math.max(1, inputs);
  const runs: TestCell[][] = Array.from({ length: count }, () => []);
  cells.forEach((each, i) => {
    const last = each.row.at(-1)!;
    const to = dealt === 'cells' ? i : dealt === 'rows' ? last : Math.floor((last * count) / 256);
    runs[to % count]!.push(each);
  });
  return runs.filter((run) => run.length > 0);
}

interface Outcome {
  readonly bytes: Uint8Array | undefined;
  readonly drops: unknown;
}

/** Runs the job as the store does, and counts the rows that are copied whole. */
async function asJob(trial: Trial, runs: readonly TestCell[][], counted: { rows: number }): Promise<Outcome> {
  const fs = new MemoryFileSystem();
  const family = familyDescriptor('f', trial.family);
  const base = {
    path: `/${OUTPUT}.sst`,
    fileNo: OUTPUT,
    family,
    now: NOW,
    smallestReadPoint: trial.smallestReadPoint,
  };
  const inputs = runs.map((run, i) => {
    const path = `/${i + 1}.sst`;
    write(fs, run, { ...family, fileNo: i + 1, dataBlockEncoding: trial.inputEncoding }, path);
    return { path, fileNo: i + 1, seq: trial.bulkLoaded ? 50 + i : undefined };
  });
  const job: Job =
    trial.inputs === 0
      ? { ...base, kind: 'flush', memstore: memstoreOf(runs[0]!).share() }
      : {
          ...base,
          kind: 'compaction',
          inputs,
          inputBytes: 0,
          major: trial.major,
          startKey: Buffer.from(trial.range[0]),
          endKey: Buffer.from(trial.range[1]),
          timeToPurgeDeletes: 0,
        };
  const { appendRow } = SortedFileWriter.prototype;
  SortedFileWriter.prototype.appendRow = function (row: EncodedRow): void {
    counted.rows++;
    appendRow.call(this, row);
  };
  try {
    const run = await JobRun.begin(job, fs);
    while (run.step(trial.pace)) {
      // The work goes on where it stopped.
    }
    const { written, drops } = await run.finish();
    return { bytes: written && fs.contents(base.path), drops };
  } finally {
    SortedFileWriter.prototype.appendRow = appendRow;
  }
}

/** The same from arrays of cells, cell by cell. */
function byCells(trial: Trial, runs: readonly TestCell[][]): Outcome {
  const fs = new MemoryFileSystem();
  const family = familyDescriptor('f', trial.family);
  const isFlush = trial.inputs === 0;
  const [startKey, endKey] = isFlush ? ['', ''] : trial.range;
  const loaded = !isFlush && trial.bulkLoaded;
  const puts = runs.flat().filter(({ type }) => type === 4);
  const cursors = runs.map((run, order) => {
    const cells = run
      .filter(({ row }) => compareBytes(row, Buffer.from(startKey)) >= 0)
      .filter(({ row }) => endKey === '' || compareBytes(row, Buffer.from(endKey)) < 0)
      .map((each) => (loaded ? { ...each, seq: 50 + order } : each));
    const cursor = new ArrayCursor(cells);
    cursor.order = order;
    cursor.seekToFirst();
    return cursor;
  });
  const writer = new SortedFileWriter(fs.create('/x.sst'), {
    ...family,
    fileNo: OUTPUT,
    majorCompacted: !isFlush && trial.major,
  });
  const sink = { append: (cursor: ArrayCursor) => writer.append(cursor), takesEncodedRows: false };
  const scanner = new CompactionScanner(cursors, sink as never, {
    kind: isFlush ? 'flush' : trial.major ? 'major' : 'minor',
    family,
    smallestReadPoint: trial.smallestReadPoint,
    now: NOW,
    earliestPutTimestamp: isFlush
      ? 0
      : puts.reduce((least, { timestamp }) => Math.min(least, timestamp), Number.MAX_SAFE_INTEGER),
    timeToPurgeDeletes: 0,
  });
  scanner.step(Number.MAX_SAFE_INTEGER);
  if (writer.cells > 0) writer.finish();
  return { bytes: writer.cells > 0 ? fs.contents('/x.sst') : undefined, drops: scanner.drops };
}

test('rows are copied whole to the same bytes as cell by cell', async () => {
  await prepareCodecs(['LZ4']);
  const counted = { rows: 0 };
  await fc.assert(
    fc.asyncProperty(jobs, async (trial) => {
      const runs = dealOut(trial);
      const actual = await asJob(trial, runs, counted);
      const expected = byCells(trial, runs);
      expect(actual.drops).toEqual(expected.drops);
      expect(actual.bytes === undefined).toBe(expected.bytes === undefined);
      if (actual.bytes) expect(Buffer.compare(actual.bytes, expected.bytes!)).toBe(0);
    }),
    { numRuns: scaled(150, 3000, 30_000) },
  );
  expect(counted.rows).toBeGreaterThan(150);
});

test('a row of a memstore that is larger than 64 KiB is not copied: its memory would be held for the whole of the flush', () => {
  const isCopied = (bytes: number): boolean => {
    const memory = memstoreOf([cell('r', 'a', 1), cell('r', 'b', 1, new Uint8Array(bytes))]).share();
    const cursor = new SharedMemstoreCursor(memory);
    return cursor.seekToFirst() && cursor.encodedRow(new EncodedRow(), 0);
  };
  // Two headers of 28 bytes, two rows and two qualifiers of one.
  expect(isCopied(65_536 - 60)).toBe(true);
  expect(isCopied(65_536 - 59)).toBe(false);
});
