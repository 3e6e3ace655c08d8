import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from './run.js';

const MODULE = fileURLToPath(new URL('../../build/test/cli/fixtures/entities.js', import.meta.url));
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-size-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function samples(count: number): string {
  const file = join(folder, `rows-${count}.ndjson`);
  const rows = Array.from({ length: count }, (_, i) => ({
    id: `customer-${String(i).padStart(6, '0')}`,
    name: `A name that is like the others ${i % 7}`,
  }));
  writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'));
  return file;
}

test('size measures a sample with the real codecs and reckons what the rows to come will weigh', async () => {
  const file = samples(400);
  const { code, out } = await run(
    'size',
    MODULE,
    'Customer',
    file,
    '--rows',
    '1e9',
    '--servers',
    '5',
    '--json',
  );
  expect(code).toBe(0);
  const report = JSON.parse(out);
  // The key: a salt, 15 letters and the two bytes at the end of a text, a record type. The cells: a name and the marker.
  expect(report).toMatchObject({
    sampled: 400,
    rows: 1e9,
    keyBytes: 19,
    cellsPerRow: 2,
    valueBytesPerRow: 33,
  });
  expect(report.rawBytesPerRow).toBe(2 * (20 + 19 + 1 + 1) + 33);
  const of = (name: string): number =>
    report.variants.find((variant: { name: string }) => variant.name === name).bytesPerRow;
  // A file without encoding repeats what raw cells repeat; each step makes it less.
  expect(of('NONE NONE')).toBeGreaterThan(2 * 19 + 33);
  expect(of('NONE FAST_DIFF')).toBeLessThan(of('NONE NONE'));
  expect(of('GZ FAST_DIFF')).toBeLessThan(of('NONE FAST_DIFF') / 2);
  expect(report.totalBytes).toBeCloseTo(of('declared') * 1e9, -3);
  expect(report.regions).toBe(Math.ceil(report.totalBytes / (10 * 2 ** 30)));
  expect(report.regionsPerServer).toBe(Math.ceil(report.regions / 5));
  expect(report.splitPoints.length).toBeLessThan(report.regions);
});

test('size prints a table, and says what it cannot take', async () => {
  const { out } = await run('size', MODULE, 'Customer', samples(20), '--rows', '1000');
  expect(out).toMatch(/Customer in shop:crm: 20 rows sampled, 1000 expected/);
  expect(out).toMatch(/ZSTD FAST_DIFF/);
  for (const [args, message] of [
    [['Nope', samples(2), '--rows', '1'], /no entity "Nope"/],
    [['Customer', samples(1), '--rows', '1'], /Use at least 2/],
    [['Customer', samples(2), '--rows', '0'], /--rows takes/],
    [['Customer', join(folder, 'none'), '--rows', '1'], /cannot be read/],
  ] as const) {
    const { code, err } = await run('size', MODULE, ...args);
    expect([args, code]).toEqual([args, 1]);
    expect(err).toMatch(message);
  }
  expect((await run('size', MODULE, 'Customer', samples(2))).code).toBe(2);
});
