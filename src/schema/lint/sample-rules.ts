/** Rules of thumb that need sample rows: the size of cells, and the distribution of keys. */

import { hotspots } from '../../key/index.js';
import type { EntitySchema } from '../types.js';
import { saltOf } from './entity-rules.js';
import type { LintFinding, LintSeverity } from './types.js';

/** "Table schema rules of thumb": cells up to 10 MB. Store larger values as files. */
const LARGE_CELL = 10 * 2 ** 20;
const BIG_CELL = 100 * 1024;
const LONG_KEY = 100;
/** Fewer samples are not significant. */
const ENOUGH = 50;
const FEW_ROWS = 0.1;

/** The codes of these findings, for docs/lint.md. */
export const SAMPLE_CODES = [
  'hot-keys',
  'large-cell',
  'big-cell',
  'long-keys',
  'mostly-names',
  'uneven-families',
];

/** The findings from a sample of rows. The entities are in the order of writing. */
export function lintSample(
  entity: EntitySchema,
  samples: readonly Readonly<Record<string, unknown>>[],
): LintFinding[] {
  if (samples.length === 0) return [];
  const sums = new Sums(entity);
  for (const sample of samples) sums.add(sample);
  return [...hotKeys(entity, sums.rows), ...sums.findings()];
}

function hotKeys(entity: EntitySchema, rows: readonly Uint8Array[]): LintFinding[] {
  if (rows.length < ENOUGH) return [];
  const splits =
    entity.table.splitKeys.length > 0
      ? entity.table.splitKeys
      : entity.key.splitPoints(saltOf(entity.key)?.count ?? 16);
  if (splits.length === 0) return [];
  return hotspots(entity.key, rows, splits).findings.map((message) =>
    finding(
      entity,
      'hot-keys',
      'warning',
      `${entity.name} key`,
      message,
      'See `rowan hotspots` for the regions.',
    ),
  );
}

/** The sizes of rows and cells, by column and family. */
class Sums {
  readonly rows: Uint8Array[] = [];
  private readonly largest = new Map<string, number>();
  private readonly families = new Map<string, number>();
  private keyBytes = 0;
  private nameBytes = 0;
  private valueBytes = 0;

  constructor(private readonly entity: EntitySchema) {}

  add(sample: Readonly<Record<string, unknown>>): void {
    const { mapper, marker } = this.entity;
    const row = mapper.rowOf(sample);
    this.rows.push(row);
    this.keyBytes += row.length;
    const seen = new Set<string>();
    for (const mutation of mapper.toMutations(sample, row)) {
      if (mutation.kind !== 'put') continue;
      for (const { family, qualifier, value } of mutation.cells) {
        if (marker !== undefined && Buffer.compare(qualifier, marker.qualifier) === 0) continue;
        seen.add(family);
        const column = `${family}:${Buffer.from(qualifier).toString('latin1')}`;
        this.largest.set(column, Math.max(this.largest.get(column) ?? 0, value.length));
        this.nameBytes += row.length + family.length + qualifier.length;
        this.valueBytes += value.length;
      }
    }
    for (const family of seen) this.families.set(family, (this.families.get(family) ?? 0) + 1);
  }

  findings(): LintFinding[] {
    const { entity } = this;
    const count = this.rows.length;
    const found: LintFinding[] = [];
    for (const [column, bytes] of this.largest) {
      if (bytes <= BIG_CELL) continue;
      const isLarge = bytes > LARGE_CELL;
      found.push(
        finding(
          entity,
          isLarge ? 'large-cell' : 'big-cell',
          isLarge ? 'warning' : 'hint',
          `${entity.name} ${column}`,
          `A value of it has ${bytes} bytes.`,
          isLarge
            ? 'Keep what is over 10 MB in files, and their names here.'
            : 'Give it a family of its own, so that reads of the rest of the row do not pass over it.',
        ),
      );
    }
    if (this.keyBytes / count > LONG_KEY) {
      found.push(
        finding(
          entity,
          'long-keys',
          'hint',
          `${entity.name} key`,
          `Keys of the sample have ${Math.round(this.keyBytes / count)} bytes on average, which stand in every cell.`,
          'Keep them to 10 to 100 bytes: shorter codecs, substitute(), or a hash of long parts.',
        ),
      );
    }
    if (this.nameBytes > 8 * this.valueBytes && this.valueBytes > 0) {
      found.push(
        finding(
          entity,
          'mostly-names',
          'hint',
          entity.name,
          `Rows, families and qualifiers have ${(this.nameBytes / this.valueBytes).toFixed(1)} times the bytes of the values.`,
          "Shorten them, keep several values in one column (json, avro), or write dataBlockEncoding: 'FAST_DIFF'.",
        ),
      );
    }
    for (const [family, rows] of count < ENOUGH ? [] : this.families) {
      if (rows / count >= FEW_ROWS) continue;
      found.push(
        finding(
          entity,
          'uneven-families',
          'hint',
          `${entity.table.descriptor.name}/${family}`,
          `Only ${rows} of ${count} rows have cells in it: scans of the family pass over the regions of all others.`,
          'Keep what few rows have in a table of its own.',
        ),
      );
    }
    return found;
  }
}

function finding(
  { table }: EntitySchema,
  code: string,
  severity: LintSeverity,
  place: string,
  message: string,
  advice: string,
): LintFinding {
  return { code, severity, table: table.descriptor.name, place, message, advice };
}
