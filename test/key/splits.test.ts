import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytes, toHex } from '../../src/bytes/index.js';
import {
  bucket,
  compileKeyLayout,
  date,
  fixedString,
  hash,
  hotspots,
  int64,
  type KeyElement,
  literal,
  part,
  recordType,
  reverseDigits,
  salt,
  text,
  timeBucket,
  uint8,
  uint32,
  uuid,
} from '../../src/key/index.js';
import { splitKeys } from '../../src/table/admin.js';

const compile = (elements: readonly KeyElement[], type?: number) =>
  compileKeyLayout(elements, () => undefined, type);
const hex = (keys: readonly Uint8Array[]) => keys.map(toHex);

describe('split points', () => {
  it('stand between salts', () => {
    const layout = compile([salt(16), part('t', text)]);
    expect(hex(layout.splitPoints(16))).toEqual(
      Array.from({ length: 15 }, (_, i) => (i + 1).toString(16).padStart(2, '0')),
    );
    expect(hex(layout.splitPoints(4))).toEqual(['04', '08', '0c']);
    expect(hex(layout.splitPoints(3))).toEqual(['06', '0b']);
    expect(layout.splitPoints(1)).toEqual([]);
    // Behind the salt the layout tells nothing, so there are no more regions than salts.
    expect(layout.splitPoints(64)).toHaveLength(15);
  });

  it('go on within salts where uniform bytes follow', () => {
    expect(hex(compile([salt(2), part('u', uuid)]).splitPoints(4))).toEqual([
      '008000000000000000',
      '01',
      '018000000000000000',
    ]);
  });

  it('stand between prefixes in byte order', () => {
    const layout = compile([salt(['c', 'a', 'b', 'd']), part('t', text)]);
    expect(layout.splitPoints(4).map((key) => Buffer.from(key).toString())).toEqual(['b', 'c', 'd']);
  });

  it('stand between buckets, behind literals', () => {
    expect(
      hex(compile([literal('v'), recordType(), bucket('n', 3), part('n', int64)], 1).splitPoints(3)),
    ).toEqual(['760101', '760102']);
  });

  it.each([2, 3, 7, 16, 100])("are HBase's own for digests, hex and digits: %i regions", (regions) => {
    expect(hex(compile([hash(part('t', text))]).splitPoints(regions))).toEqual(
      hex(splitKeys('UniformSplit', regions)),
    );
    expect(hex(compile([hash(part('t', text), { encoding: 'hex' })]).splitPoints(regions))).toEqual(
      hex(splitKeys('HexStringSplit', regions)),
    );
    expect(hex(compile([reverseDigits('n', 10)]).splitPoints(regions))).toEqual(
      hex(splitKeys('DecimalStringSplit', regions)),
    );
  });

  it('use the bytes that a cut digest has, and as many as there are', () => {
    expect(hex(compile([hash(part('t', text), { bytes: 1 }), part('n', uint8)]).splitPoints(4))).toEqual([
      '40',
      '80',
      'c0',
    ]);
    expect(compile([hash(part('t', text), { bytes: 1 })]).splitPoints(1000)).toHaveLength(255);
  });

  it('stand between two given times', () => {
    const between = [new Date('2026-01-01'), new Date('2026-01-05')] as const;
    const layout = compile([timeBucket('at', '1d'), part('h', text)]);
    const splits = layout.splitPoints(4, { between });
    const days = ['2026-01-02', '2026-01-03', '2026-01-04'].map((day) =>
      layout.encode({ at: new Date(day), h: '' }),
    );
    expect(hex(splits)).toEqual(hex(days.map((row) => row.subarray(0, 8))));
    expect(hex(compile([part('at', date)]).splitPoints(2, { between }))).toEqual(
      hex([compile([part('at', date)]).encode({ at: new Date('2026-01-03') })]),
    );
  });

  it('between two texts of hexadecimal digits are those that such keys reach', () => {
    const layout = compile([part('id', fixedString(16))]);
    const between = ['0000000000000000', 'ffffffffffffffff'] as const;
    const text = (keys: readonly Uint8Array[]) => keys.map((key) => Buffer.from(key).toString());
    for (const regions of [3, 10, 100]) {
      // getHexSplits of HBase's reference guide, "Relationship Between RowKeys and Region Splits".
      const increment = BigInt(`0x${between[1]}`) / BigInt(regions);
      const guide = Array.from({ length: regions - 1 }, (_, i) =>
        (increment * BigInt(i + 1)).toString(16).padStart(16, '0'),
      );
      expect(text(layout.splitPoints(regions, { between }))).toEqual(guide);
    }
    // Bytes.split, which the guide warns of, cuts at "=", "D", "K", "R", "X" and "_" too: no hexadecimal digit.
    expect(text(layout.splitPoints(10, { between })).every((key) => /^[0-9a-f]{16}$/.test(key))).toBe(true);
  });

  it('are quantiles of samples', () => {
    const layout = compile([part('t', fixedString(1))]);
    const samples = [...'edcbaaaaaa'].map((t) => layout.encode({ t }));
    expect(layout.splitPoints(5, { samples }).map((key) => Buffer.from(key).toString())).toEqual(['b', 'd']);
  });

  it('are none where the layout tells nothing, and refuse a wrong number', () => {
    expect(compile([part('t', text)]).splitPoints(8)).toEqual([]);
    expect(() => compile([part('t', text)]).splitPoints(0)).toThrowError(/number of regions/);
    expect(() => compile([part('t', text)]).splitPoints(1.5)).toThrowError(/number of regions/);
  });

  it('are always rising and not empty', () => {
    const layouts = [
      compile([salt(256), part('u', uuid)]),
      compile([salt(7), hash(part('t', text), { bytes: 2 })]),
      compile([hash(part('t', text), { bytes: 1 })]),
      compile([reverseDigits('n', 2)]),
    ];
    fc.assert(
      fc.property(fc.constantFrom(...layouts), fc.integer({ min: 1, max: 700 }), (layout, regions) => {
        const keys = layout.splitPoints(regions);
        expect(keys.length).toBeLessThan(Math.max(1, regions));
        expect(keys.every((key) => key.length > 0)).toBe(true);
        expect(keys.every((key, i) => i === 0 || compareBytes(keys[i - 1]!, key) < 0)).toBe(true);
      }),
    );
  });
});

describe('hotspots', () => {
  const rising = Array.from({ length: 4000 }, (_, n) => ({ n }));

  it('finds a rising key hot', () => {
    const layout = compile([part('n', uint32)]);
    const splits = layout.splitPoints(4, { between: [0, 4000] });
    const report = hotspots(layout, rising, splits);
    expect(report.regions.map(({ keys }) => keys)).toEqual([1000, 1000, 1000, 1000]);
    expect(report).toMatchObject({ keys: 4000, maxOverMean: 1, gini: 0, hottestShare: 0.25 });
    expect(report.burst).toBeGreaterThan(0.8);
    expect(report.findings).toEqual([expect.stringContaining('rises with time')]);
  });

  it('finds a salted key spread', () => {
    const report = hotspots(compile([salt(16), part('n', uint32)]), rising);
    expect(report.regions).toHaveLength(16);
    expect(report.maxOverMean).toBeLessThan(1.2);
    expect(report.gini).toBeLessThan(0.1);
    expect(report.burst).toBeLessThan(0.2);
    expect(report.findings).toEqual([]);
  });

  it('finds a salt over one frequent value hot, with the figures of it', () => {
    const layout = compile([salt(4, ['t']), part('t', text), part('n', uint32)]);
    const report = hotspots(
      layout,
      rising.map(({ n }) => ({ n, t: 'one customer' })),
    );
    expect(report).toMatchObject({ maxOverMean: 4, gini: 0.75, hottestShare: 1, burst: 1 });
    expect(report.regions[report.hottest]!.keys).toBe(4000);
    expect(report.findings[0]).toMatch(/takes 100\.0 % of the keys, 4\.0 times the mean/);
  });

  it('puts a row that equals a split key behind it', () => {
    const report = hotspots(
      compile([part('n', uint8)]),
      [Uint8Array.of(7), Uint8Array.of(8)],
      [Uint8Array.of(8)],
    );
    expect(report.regions.map(({ keys }) => keys)).toEqual([1, 1]);
  });

  it('says so when there is only one region', () => {
    expect(hotspots(compile([part('n', uint8)]), [{ n: 1 }]).findings[0]).toMatch(/gives no split points/);
  });

  it('refuses no samples and split keys that do not rise', () => {
    const layout = compile([part('n', uint8)]);
    expect(() => hotspots(layout, [])).toThrowError(/at least one/);
    expect(() => hotspots(layout, [{ n: 1 }], [Uint8Array.of(2), Uint8Array.of(2)])).toThrowError(
      /not greater/,
    );
  });
});
