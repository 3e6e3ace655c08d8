/** What every mapper of the bench does: the same entity, the same operations, the same durability. */

import { fileURLToPath } from 'node:url';

/** The project's folder, whether this runs from the sources or from `build`. */
export const projectRoot = fileURLToPath(import.meta.url).replace(
  /[\\/](build[\\/])?test[\\/]bench[\\/].*$/,
  '',
);

/** Key: sensor and seq. */
export interface Reading {
  sensor: string;
  seq: number;
  kind: string;
  unit: string;
  value: number;
  quality: number;
  valid: boolean;
  takenAt: Date;
}

/** Batches are durable: acknowledged when they are on the disk, whole or not at all. */
export interface Writer {
  readonly name: string;
  readonly version: string;
  /** Stores rows whose keys are new; fails where one is not. */
  insert(rows: readonly Reading[]): unknown;
  /** Stores rows, in place of those that have their keys. */
  put(rows: readonly Reading[]): unknown;
  close(): void | Promise<void>;
}

export interface Contestant extends Writer {
  get(sensor: string, seq: number): Reading | null | undefined | Promise<Reading | null | undefined>;
  /** One sensor's readings from `from` (inclusive) to `to` (exclusive), in order. */
  range(sensor: string, from: number, to: number): Reading[] | Promise<Reading[]>;
  all(): Reading[] | Promise<Reading[]>;
  /** A transaction: reads a row, and sets its quality to what was read and `by`. */
  change(sensor: string, seq: number, by: number): unknown;
  /** Whether several transactions may be open at once. */
  readonly overlaps?: boolean;
}

/** Opens a contestant's own store in an empty folder. */
export type OpenContestant<C extends Writer = Contestant> = (folder: string) => Promise<C>;

/** The names of the sensors; the longest is 12 bytes. */
export function sensorName(index: number): string {
  return `sensor-${String(index).padStart(4, '0')}`;
}

export function makeReading(sensor: number, seq: number): Reading {
  const mixed = (Math.imul(sensor + 1, 0x9e3779b1) ^ Math.imul(seq + 1, 0x85ebca6b)) >>> 0;
  return {
    sensor: sensorName(sensor),
    seq,
    kind: ['temperature', 'pressure', 'humidity', 'wind'][mixed % 4]!,
    unit: ['K', 'hPa', '%', 'm/s'][mixed % 4]!,
    value: mixed / 1000,
    quality: mixed % 100,
    valid: mixed % 10 !== 0,
    takenAt: new Date(1_700_000_000_000 + seq * 60_000),
  };
}
