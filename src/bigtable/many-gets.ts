import { equalBytes, toLatin1 } from '../bytes/index.js';
import type { ScanContext } from '../store/scan/store-read.js';
import type { Cell } from '../table/checks.js';
import type { Get } from '../table/get-and-scan.js';
import type { Result } from '../table/result.js';
import type { ReadPlan } from './read-plan.js';
import type { RowFilter } from './wire.js';

/** The largest number of keys in one ReadRows request. */
const MAX_KEYS = 1000;

/** The parts of a table that gets use. */
interface GetRunner {
  planOf(get: Get): ReadPlan;
  /** The existing rows with these keys, which differ. */
  readRows(rowKeys: readonly Uint8Array[], filter: RowFilter | undefined): Promise<Cell[][]>;
  context(): ScanContext;
}

interface Shape {
  readonly plan: ReadPlan;
  readonly example: Get;
  readonly group: Group;
}

/** Gets with one filter, by their places in the list. */
interface Group {
  readonly filter: RowFilter | undefined;
  readonly places: number[];
}

/**
 * The results of gets of one table, in their order. Gets that ask for the same columns share a plan, and gets with the same filter
 * share requests. @throws RowanError of any of them.
 */
export async function runGets(gets: readonly Get[], runner: GetRunner): Promise<Result[]> {
  const groups = new Map<string, Group>();
  const shapes: Shape[] = [];
  const plans: ReadPlan[] = [];
  let shape: Shape | undefined;
  for (const [at, get] of gets.entries()) {
    if (shape === undefined || !isOfShape(shape.example, get)) {
      shape = shapes.find(({ example }) => isOfShape(example, get));
      if (shape === undefined) {
        // A plan asks for the families of its get, which makes a map of them.
        shape = shapeOf(get, runner.planOf(get.copy()), groups);
        shapes.push(shape);
      }
    }
    plans.push(shape.plan);
    shape.group.places.push(at);
  }
  const results: Result[] = new Array(gets.length);
  const parts = [...groups.values()].flatMap(({ filter, places }) => partsOf(filter, places));
  await Promise.all(
    parts.map(async ({ filter, places }) => {
      const keys = places.map((place) => toLatin1(gets[place]!.row));
      const rows = new Map(keys.map((key, i) => [key, gets[places[i]!]!.row]));
      const found = new Map<string, readonly Cell[]>();
      for (const cells of await runner.readRows([...rows.values()], filter)) {
        found.set(toLatin1(cells[0]!.row), cells);
      }
      const context = runner.context();
      for (const [i, place] of places.entries()) {
        results[place] = plans[place]!.rowOf(gets[place]!, found.get(keys[i]!), context);
      }
    }),
  );
  return results;
}

function shapeOf(example: Get, plan: ReadPlan, groups: Map<string, Group>): Shape {
  const { filter } = plan;
  const text = JSON.stringify(filter) ?? '';
  const group = groups.get(text) ?? { filter, places: [] };
  groups.set(text, group);
  return { plan, example, group };
}

/** Parts of a group that fit a request each. */
function partsOf(filter: RowFilter | undefined, places: readonly number[]): Group[] {
  const parts: Group[] = [];
  for (let from = 0; from < places.length; from += MAX_KEYS) {
    parts.push({ filter, places: places.slice(from, from + MAX_KEYS) });
  }
  return parts;
}

/** Whether two gets differ in nothing but their row. */
function isOfShape(a: Get, b: Get): boolean {
  return (
    a.maxVersions === b.maxVersions &&
    a.timeRange.min === b.timeRange.min &&
    a.timeRange.max === b.timeRange.max &&
    a.checkExistenceOnly === b.checkExistenceOnly &&
    a.filter === b.filter &&
    a.familyTimeRanges === b.familyTimeRanges &&
    a.authorizations === b.authorizations &&
    a.maxResultsPerColumnFamily === b.maxResultsPerColumnFamily &&
    a.rowOffsetPerColumnFamily === b.rowOffsetPerColumnFamily &&
    haveSameColumns(a, b)
  );
}

function haveSameColumns(a: Get, b: Get): boolean {
  if (a.asksForAll || b.asksForAll) return a.asksForAll === b.asksForAll;
  if (a.onlyFamily !== undefined && b.onlyFamily !== undefined) {
    return a.onlyFamily === b.onlyFamily && equalBytes(a.onlyColumn!, b.onlyColumn!);
  }
  if (a.families.size !== b.families.size) return false;
  for (const [family, columns] of a.families) {
    const others = b.families.get(family);
    if (others === undefined || (others === null) !== (columns === null)) return false;
    if (columns === null || others === null) continue;
    if (columns.length !== others.length) return false;
    for (let i = 0; i < columns.length; i++) if (!equalBytes(columns[i]!, others[i]!)) return false;
  }
  return true;
}
