/**
 * Holds the rows of both layouts against each other on an engine whose one step is a row, while nobody writes the old table. What
 * differs is copied once more, since a cell with a time of its own may stand behind the span that the last pass copied.
 */

import { Get, type Result } from '../../table/index.js';
import type { JobRunOptions } from '../types.js';
import { areSame, everyVersion, type RowDifferences } from './compare.js';
import { nothing, pass, type RekeyTarget, rowsAlone, runPasses } from './passes.js';
import { rawRow, writeCopies } from './remote-copy.js';
import { RowMapping } from './row-mapping.js';

/** Counts what still differs when it was copied once more. */
export async function compareFrozen(target: RekeyTarget, run: JobRunOptions = {}): Promise<RowDifferences> {
  const { engine, from, to, mirror } = target;
  const { forth } = mirror;
  const back = new RowMapping(to, from);
  const [olds, news] = [from, to].map(({ table }) => engine.table(table.descriptor.name));
  const there = (row: Uint8Array): Uint8Array => forth.rowOf(row, nothing)!;

  /** Of these rows those whose like is missing, or has other cells. */
  const wrong = async (rows: readonly Result[]): Promise<[Result, 'missing' | 'different'][]> => {
    const found = await news!.getAll(rows.map(({ row }) => new Get(there(row)).readAllVersions()));
    return rows.flatMap((row, i): [Result, 'missing' | 'different'][] => {
      const { cells, isEmpty } = found[i]!;
      if (isEmpty) return [[row, 'missing']];
      return areSame(forth.cellsOf(row.row, there(row.row), row.cells), cells) ? [] : [[row, 'different']];
    });
  };
  /** Of these rows of the new layout those that the old one does not have. */
  const stray = async (rows: readonly Result[]): Promise<Result[]> => {
    const gets = rows.map(({ row }) => new Get(back.rowOf(row, nothing)!).setCheckExistenceOnly(true));
    const found = await olds!.getAll(gets);
    return rows.filter((_, i) => found[i]!.row.length === 0);
  };
  const copyAgain = async (rows: readonly Uint8Array[]): Promise<void> => {
    for (const row of rows) await writeCopies(target, [await rawRow(target, row)]);
  };

  const phases = [
    pass(from, everyVersion, (context) => ({
      async rows(rows) {
        const own = rows.filter(({ row }) => forth.matches(row));
        context.count('rows', own.length);
        const suspects = (await wrong(own)).map(([row]) => row);
        if (suspects.length === 0) return;
        await copyAgain(suspects.map(({ row }) => row));
        for (const [, what] of await wrong(suspects)) context.count(what);
      },
    })),
    pass(to, rowsAlone, (context) => ({
      async rows(rows) {
        const suspects = await stray(rows.filter(({ row }) => back.matches(row)));
        if (suspects.length === 0) return;
        await copyAgain(suspects.map(({ row }) => back.rowOf(row, nothing)!));
        const gets = suspects.map(({ row }) => new Get(row).setCheckExistenceOnly(true));
        const left = (await news!.getAll(gets)).filter(({ row }) => row.length > 0);
        if (left.length > 0) context.count('extra', left.length);
      },
    })),
  ];
  const { counters } = await runPasses(target, 'verify', 'verify', phases, { ...run, restart: true });
  const count = (what: string): number => counters[what] ?? 0;
  return {
    rows: count('rows'),
    missing: count('missing'),
    extra: count('extra'),
    different: count('different'),
    unkeyed: 0,
  };
}
