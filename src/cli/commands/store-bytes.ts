import { InvalidArgumentError } from '../../errors.js';
import { openReadOnly, type ReadOnlyStore } from '../../store/read-only/read-only-store.js';
import { Scan } from '../../table/index.js';
import type { CliContext } from '../context.js';
import { describeMoment } from '../databases.js';
import { encryptionFromEnvironment } from '../encryption.js';

/** The bytes of the cells of a family that readers see, and of its files. */
interface FamilyBytes {
  readonly table: string;
  readonly family: string;
  rows: number;
  cells: number;
  /** Of the row keys: each cell has one. */
  keys: number;
  qualifiers: number;
  /** Timestamp (8) and type (1) of each cell. */
  times: number;
  values: number;
  /** Of the files on the disk: blocks, encoded and compressed, with indexes and filters. */
  readonly files: number;
  /** Cells in memory, which no file has yet. */
  readonly inMemory: number;
}

const TIME_BYTES = 9;

/** Reads tables and adds up the bytes of their cells. */
async function bytesOf(store: ReadOnlyStore, only: string | undefined): Promise<FamilyBytes[]> {
  const found: FamilyBytes[] = [];
  for (const { table, regions } of store.stats().tables) {
    if (only !== undefined && table !== only) continue;
    const own = new Map<string, FamilyBytes>();
    for (const { family, fileBytes, memstoreCells } of regions.flatMap(({ families }) => families)) {
      const { files = 0, inMemory = 0 } = own.get(family) ?? {};
      const counts = { rows: 0, cells: 0, keys: 0, qualifiers: 0, times: 0, values: 0 };
      own.set(family, {
        table,
        family,
        ...counts,
        files: files + fileBytes,
        inMemory: inMemory + memstoreCells,
      });
    }
    const isEnabled = await store.admin.isTableEnabled(table);
    for await (const { cells } of isEnabled ? store.table(table).scan(new Scan().readAllVersions()) : []) {
      let last = '';
      for (const { row, family, qualifier, value } of cells) {
        const bytes = own.get(family)!;
        if (family !== last) bytes.rows++;
        last = family;
        bytes.cells++;
        bytes.keys += row.length;
        bytes.qualifiers += qualifier.length;
        bytes.times += TIME_BYTES;
        bytes.values += value.length;
      }
    }
    found.push(...own.values());
  }
  if (only !== undefined && found.length === 0)
    throw new InvalidArgumentError(`The store has no table "${only}". \`rowan store stats\` lists them.`);
  return found;
}

/** Prints what a row of each family costs, of all tables or one. */
export async function tellBytes(
  folder: string,
  only: string | undefined,
  json: boolean,
  context: CliContext,
): Promise<void> {
  await using store = await openReadOnly(folder, encryptionFromEnvironment());
  const found = await bytesOf(store, only);
  if (json) {
    context.write(`${JSON.stringify(found)}\n`);
    return;
  }
  if (store.moment.opener !== undefined) context.write(describeMoment(store.moment));
  for (const { table, family, rows, cells, keys, qualifiers, times, values, files, inMemory } of found) {
    const raw = keys + qualifiers + times + values;
    const each = (bytes: number): string => (rows === 0 ? '-' : (bytes / rows).toFixed(1));
    const disk =
      inMemory > 0
        ? `${inMemory} cells are in memory: flush for bytes on the disk`
        : `${each(files)} on the disk, ${raw === 0 ? '-' : ((files / raw) * 100).toFixed(0)} % of that`;
    context.write(
      `${table} ${family}: ${rows} rows of ${each(cells)} cells; a row: keys ${each(keys)}, qualifiers ${each(qualifiers)}, ` +
        `times ${each(times)}, values ${each(values)}, together ${each(raw)} bytes; ${disk}\n`,
    );
  }
}
