/** Predicts how evenly a row key spreads over regions, from sample keys, before any data is written. */

import { compareBytes, toStringBinary } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import type { KeyLayout } from './types.js';

/** One region and its share of the sample. */
export interface RegionLoad {
  /** Inclusive; empty for the first region. */
  readonly start: Uint8Array;
  /** Exclusive; undefined for the last region. */
  readonly stop: Uint8Array | undefined;
  readonly keys: number;
  /** The region's share of all keys, 0..1. */
  readonly share: number;
}

/** How the keys of a sample spread over regions. */
export interface HotspotReport {
  /** In byte order. */
  readonly regions: readonly RegionLoad[];
  readonly keys: number;
  /**
   * Keys of the fullest region divided by the mean: 1 if all regions are equal, at worst the number of
   * regions.
   */
  readonly maxOverMean: number;
  /**
   * The Gini coefficient of the regions' key counts: 0 if all are equal, near 1 if one region has every key.
   */
  readonly gini: number;
  /** The fullest region's share of all keys, 0..1. */
  readonly hottestShare: number;
  /** The index of the fullest region. */
  readonly hottest: number;
  /**
   * Measures whether writes in the sample's order hit one region at a time. The sample is cut into ten parts
   * in its own order; this is the mean share of each part that falls into that part's fullest region. A value
   * near 1 means one region at a time, however even the total is.
   */
  readonly burst: number;
  /** One sentence for each finding, with advice; empty if the keys are spread well. */
  readonly findings: readonly string[];
}

/** The fullest region is a hotspot if it has more than this many times the mean. */
const HOT = 2;
/** Writes hit one region at a time if `burst` is above this. */
const BURST = 0.6;

/**
 * Computes into which regions the samples fall.
 * @param samples values of key parts, or rows, in the order in which they are written.
 * @param splitKeys defaults to the split points of the layout for 16 regions.
 * @throws InvalidArgumentError when the sample is empty or the split keys are not in rising order; KeyError
 * on a bad sample.
 */
export function hotspots(
  layout: KeyLayout,
  samples: readonly (Uint8Array | Readonly<Record<string, unknown>>)[],
  splitKeys: readonly Uint8Array[] = layout.splitPoints(16),
): HotspotReport {
  if (samples.length === 0) throw new InvalidArgumentError('hotspots() needs at least one sample key.');
  checkRising(splitKeys);
  const landed = samples.map((sample) =>
    regionOf(sample instanceof Uint8Array ? sample : layout.encode(sample), splitKeys),
  );
  const counts = countsOf(landed, splitKeys.length + 1);
  const hottest = counts.indexOf(Math.max(...counts));
  const figures = {
    keys: samples.length,
    maxOverMean: (counts[hottest]! * counts.length) / samples.length,
    gini: gini(counts),
    hottestShare: counts[hottest]! / samples.length,
    hottest,
    burst: burst(landed, counts.length),
  };
  const regions = counts.map((keys, i) => ({
    start: splitKeys[i - 1] ?? new Uint8Array(0),
    stop: splitKeys[i],
    keys,
    share: keys / samples.length,
  }));
  return { regions, ...figures, findings: findingsOf(layout, regions, figures) };
}

function checkRising(splitKeys: readonly Uint8Array[]): void {
  for (let i = 1; i < splitKeys.length; i++) {
    if (compareBytes(splitKeys[i - 1]!, splitKeys[i]!) >= 0) {
      throw new InvalidArgumentError(
        `Split key ${i} (${toStringBinary(splitKeys[i]!)}) is not greater than the one before it. Sort the split keys.`,
      );
    }
  }
}

/** The index of a row's region: the number of split keys less than or equal to the row. */
function regionOf(row: Uint8Array, splitKeys: readonly Uint8Array[]): number {
  let low = 0;
  let high = splitKeys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareBytes(splitKeys[middle]!, row) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function countsOf(landed: readonly number[], regions: number): number[] {
  const counts = new Array<number>(regions).fill(0);
  for (const region of landed) counts[region]!++;
  return counts;
}

function gini(counts: readonly number[]): number {
  const sorted = [...counts].sort((a, b) => a - b);
  const total = sorted.reduce((sum, count) => sum + count, 0);
  const weighted = sorted.reduce((sum, count, i) => sum + (2 * (i + 1) - sorted.length - 1) * count, 0);
  return weighted / (sorted.length * total);
}

function burst(landed: readonly number[], regions: number): number {
  const tenth = Math.max(1, Math.ceil(landed.length / 10));
  let sum = 0;
  let pieces = 0;
  for (let i = 0; i < landed.length; i += tenth) {
    const piece = landed.slice(i, i + tenth);
    sum += Math.max(...countsOf(piece, regions)) / piece.length;
    pieces++;
  }
  return sum / pieces;
}

function findingsOf(
  layout: KeyLayout,
  regions: readonly RegionLoad[],
  {
    maxOverMean,
    hottest,
    hottestShare,
    burst: oneAtATime,
    keys,
  }: Omit<HotspotReport, 'regions' | 'findings' | 'gini'>,
): string[] {
  if (regions.length === 1) {
    return [
      `The layout "${layout.signature}" gives no split points, so all ${keys} keys start in one region. Begin the key with salt() or hash(), or give split keys.`,
    ];
  }
  const findings: string[] = [];
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  if (maxOverMean > HOT) {
    const { start, stop } = regions[hottest]!;
    findings.push(
      `Region ${hottest} [${toStringBinary(start)}, ${stop ? toStringBinary(stop) : ''}) takes ${percent(hottestShare)} of the keys, ${maxOverMean.toFixed(1)} times the mean. Spread the leading part with salt(), hash() or reverse(), or split by samples.`,
    );
  }
  // A sample smaller than this is uneven by chance.
  if (oneAtATime > BURST && keys >= 20 * regions.length) {
    findings.push(
      `Keys written one after the other fall into one region: on average ${percent(oneAtATime)} of each tenth of the sample. The leading part rises with time; put salt() or bucket() before it.`,
    );
  }
  return findings;
}
