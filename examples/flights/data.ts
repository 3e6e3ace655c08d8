/** The airports and flights of the npm package `vega-datasets`. */

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Airport, Flight } from './entities.js';

/** The package's data folder, found as Node finds the package. */
function dataFolder(): string {
  const entry = createRequire(import.meta.url).resolve('vega-datasets');
  return join(dirname(dirname(entry)), 'data');
}

export async function readAirports(): Promise<Airport[]> {
  const [header, ...lines] = (await readFile(join(dataFolder(), 'airports.csv'), 'utf8'))
    .trim()
    .split(/\r?\n/);
  const names = parseCsvLine(header!);
  return lines.map((line) => {
    const values = parseCsvLine(line);
    const record = Object.fromEntries(names.map((name, i) => [name, values[i]!]));
    const { iata, name, city, state, country } = record as Record<string, string>;
    return Object.assign(new Airport(), {
      iata,
      name,
      city,
      state,
      country,
      latitude: Number(record['latitude']),
      longitude: Number(record['longitude']),
    });
  });
}

interface FlightRecord {
  /** "2001/01/31 23:59" */
  readonly date: string;
  readonly delay: number;
  readonly distance: number;
  readonly origin: string;
  readonly destination: string;
}

export async function readFlights(): Promise<Flight[]> {
  const records = JSON.parse(
    await readFile(join(dataFolder(), 'flights-20k.json'), 'utf8'),
  ) as FlightRecord[];
  return records.map((record, number) =>
    Object.assign(new Flight(), {
      iata: record.origin,
      departedAt: new Date(`${record.date.replaceAll('/', '-').replace(' ', 'T')}:00Z`),
      number,
      destination: record.destination,
      delay: record.delay,
      distance: record.distance,
    }),
  );
}

/** The fields of a line; quoted ones may hold commas and doubled quotes. */
export function parseCsvLine(line: string): string[] {
  const fields: string[] = [];
  const pattern = /(?:"((?:[^"]|"")*)"|([^,]*))(?:,|$)/gy;
  while (pattern.lastIndex < line.length) {
    const match = pattern.exec(line);
    if (match === null) throw new Error(`Not a line of CSV: ${line}`);
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
  }
  if (line.endsWith(',')) fields.push('');
  return fields;
}
