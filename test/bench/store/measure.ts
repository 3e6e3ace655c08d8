/** Rates by rounds in turn, and the times of single steps. */

import { type BenchRow, compareRates, type Measured, type Percentiles, toRow } from '../harness.js';
import type { Operation, Step } from './operations.js';

const MOST_TIMED = 20_000;

/** A row of the stores' rates, by the clock and by CPU time. */
export async function rated(
  title: string,
  unit: string,
  contestants: Readonly<Record<string, Measured>>,
  rounds: number,
): Promise<BenchRow> {
  const { wall, processor } = await compareRates(contestants, rounds);
  return { ...toRow(title, unit, wall), processor };
}

/** Operations a second of each store, and percentiles of their steps in microseconds. */
export async function measure(operation: Operation, label: string, rounds: number): Promise<BenchRow> {
  const { title, unit, steps, step } = operation;
  const contestants = Object.fromEntries(
    Object.entries(step).map(([name, each]) => [name, () => runSteps(each, steps)]),
  );
  const row = await rated(`${title}, ${label}`, unit, contestants, rounds);
  if (steps < 100) return row;
  const times: Record<string, Percentiles> = {};
  for (const [name, each] of Object.entries(step))
    times[name] = await percentiles(each, Math.min(steps, MOST_TIMED));
  return { ...row, microseconds: times };
}

/** Steps that answer at once are not awaited. */
async function runSteps(step: Step, count: number): Promise<number> {
  let units = 0;
  for (let at = 0; at < count; at++) {
    const done = step(at);
    units += typeof done === 'number' ? done : await done;
  }
  return units;
}

async function percentiles(step: Step, count: number): Promise<Percentiles> {
  const times = new Float64Array(count);
  for (let at = 0; at < count; at++) {
    const start = performance.now();
    const done = step(at);
    if (typeof done !== 'number') await done;
    times[at] = (performance.now() - start) * 1000;
  }
  times.sort();
  const at = (share: number): number => Math.round(times[Math.floor(share * (count - 1))]! * 100) / 100;
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999) };
}
