import { readFileSync } from 'node:fs';

/** SQLite as durable as Rowan's default: write-ahead log, one sync of the disk for each commit. */
export const PRAGMAS = ['journal_mode = WAL', 'synchronous = FULL'];

export const CREATE_TABLE = `create table if not exists reading (
  sensor text not null,
  seq integer not null,
  kind text not null,
  unit text not null,
  value real not null,
  quality integer not null,
  valid integer not null,
  taken_at integer not null,
  primary key (sensor, seq)
) without rowid`;

/** The installed version of a package. */
export function versionOf(name) {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
