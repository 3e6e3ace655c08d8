/** Random work on a store, and all that can be read of one, by which two are held against each other. */

import { toLatin1 } from '../../../src/bytes/index.js';
import type { EmbeddedEngine } from '../../../src/store/engine.js';
import {
  Append,
  Cell,
  CellType,
  Delete,
  type Engine,
  Increment,
  Put,
  Scan,
  tableDescriptor,
} from '../../../src/table/index.js';

type Random = () => number;

const TABLES = ['t', 'u'];

/**
 * What a store holds: tables, families, regions, and every version of every cell with its time. `raw`: what is hidden, too; of
 * writes in memory it depends on how they came there.
 */
export async function everything(engine: Engine, raw = false): Promise<string[]> {
  const lines: string[] = [...(await engine.admin.listNamespaces())];
  for (const { name, families } of await engine.admin.listTables()) {
    lines.push(`${name} ${families.map((family) => family.name).join()}`);
    if (!(await engine.admin.isTableEnabled(name))) continue;
    const starts = (await engine.admin.getRegions(name)).map(({ startKey }) => toLatin1(startKey));
    lines.push(`${name} regions ${starts.join()}`);
    for await (const { cells } of engine.table(name).scan(new Scan().setRaw(raw).readAllVersions())) {
      for (const { row, family, qualifier, timestamp, type, value } of cells)
        lines.push(
          `${name} ${toLatin1(row)} ${family}:${toLatin1(qualifier)} ${timestamp} ${type} ${toLatin1(value)}`,
        );
    }
    // The short ways to a row, which read memory and files otherwise than a raw scan.
    for await (const { row, cells } of engine.table(name).scan(new Scan()))
      lines.push(`${name} ${toLatin1(row)} ${cells.map(({ value }) => toLatin1(value)).join()}`);
  }
  return lines;
}

/** One random change of a store; whether it is one that no log has. */
export async function change(engine: EmbeddedEngine, random: Random, step: number): Promise<boolean> {
  const { admin } = engine;
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const name = pick(TABLES);
  if (!(await admin.tableExists(name))) {
    await admin.createTable(tableDescriptor(name, { a: { versions: 3 }, b: { compression: 'GZ' } }));
  }
  const table = engine.table(name);
  const { families } = await admin.getDescriptor(name);
  const family = pick(families).name;
  const row = `r${Math.floor(random() * 40)}`;
  const put = (at: string): Put => new Put(at).addColumn(family, pick(['x', 'y']), `${step}`.repeat(30));
  const kind = Math.floor(random() * 26);
  if (kind < 10) await table.put(put(row));
  else if (kind < 12) await table.delete(new Delete(row).addFamily(family));
  else if (kind < 14) await table.increment(new Increment(row).addColumn(family, 'n', 1n));
  else if (kind < 15) await table.append(new Append(row).addColumn(family, 's', 'z'));
  else if (kind < 17) await table.batch([put('r1'), put('r39'), put(row)], { atomic: true });
  else if (kind < 19) await admin.flush(name, family);
  else if (kind < 20) await admin.majorCompact(name);
  else if (kind < 21) {
    const names = (await admin.getRegions(name)).map((region) => region.name);
    if (names.length > 3) await admin.mergeRegions(names.slice(1, 3));
    else await admin.split(name);
  } else if (kind < 22) await table.put(put(row).setDurability('SKIP_WAL'));
  else if (kind < 23) {
    const cell = new Cell(
      Buffer.from(row),
      family,
      Buffer.from('l'),
      step,
      CellType.Put,
      Buffer.from('loaded'),
    );
    await engine.bulkLoad(name, [cell]);
  } else if (kind < 24) {
    const other = tableDescriptor(
      name,
      families.length > 1 ? { a: { versions: 3 } } : { a: {}, b: {}, c: {} },
    );
    await admin.modifyTable(other);
  } else if (kind < 25) {
    await admin.snapshot(`s${step}`, name);
    await admin.disableTable(name);
    await admin.restoreSnapshot(`s${step}`);
    await admin.enableTable(name);
  } else if (random() < 0.3) {
    await admin.disableTable(name);
    if (random() < 0.5) await admin.deleteTable(name);
    else await admin.truncateTable(name, true);
  }
  return kind === 21;
}
