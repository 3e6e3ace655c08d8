/** Figures of a bench's rows as cells of a table in Markdown. */

import type { BenchRow } from './harness.js';

/** A figure of a row, for the contestant of the column. */
export type Cell = (row: BenchRow, contestant: string) => string;

/** The title of a line's rows has `*` where a column's `insert` goes. The line's cell goes before the column's. */
export interface Grid {
  readonly file: string;
  readonly corner: string;
  readonly lines: readonly (readonly [label: string, title: string, cell?: Cell])[];
  readonly columns: readonly Column[];
  readonly cell: Cell;
}

export interface Column {
  readonly label: string;
  readonly insert?: string;
  readonly contestant?: string;
  readonly cell?: Cell;
}

type Figures = (row: BenchRow) => Readonly<Record<string, number | undefined>>;
export const clock: Figures = ({ rowan, peers }) => ({ rowan, ...peers });
export const processor: Figures = (row) => row.processor ?? {};
export const perMedian: Figures = ({ microseconds = {} }) =>
  Object.fromEntries(Object.entries(microseconds).map(([name, { p50 }]) => [name, 1 / p50]));
export const memory: Figures = ({ megabytes = {} }) => megabytes;

/** How many times the speed of each peer ours is. */
export function times(figures: Figures, ...peers: string[]): Cell {
  return (row) => {
    const { rowan, ...others } = figures(row);
    const ratios = peers.map((peer) => {
      const other = others[peer];
      return rowan === undefined || other === undefined ? '' : ratio(rowan / other);
    });
    return ratios.every((each) => each === '') ? '' : ratios.map((each) => each || '-').join(' / ');
  };
}

/** `above` divided by a rate of the column's contestant, as the microseconds of an operation. */
export function inverse(above: number, digits: number, figures: Figures = clock): Cell {
  return (row, contestant) => number(above / figures(row)[contestant]!, digits);
}

/** A figure of the column's contestant as it stands. */
export function value(digits: number, figures: Figures = clock, unit = 1): Cell {
  return (row, contestant) => number(figures(row)[contestant]! / unit, digits);
}

export function both(...cells: readonly Cell[]): Cell {
  return (row, contestant) => {
    const texts = cells.map((cell) => cell(row, contestant)).filter((text) => text !== '');
    return texts.join(' / ');
  };
}

function ratio(figure: number): string {
  return figure >= 10 ? figure.toFixed(0) : figure.toFixed(2);
}

function number(figure: number, digits: number): string {
  if (!Number.isFinite(figure)) return '';
  return figure.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** By CPU time; what is no time, as bytes, as it stands. */
export function cpuOrRatio(...peers: string[]): Cell {
  return (row) => times(row.processor === undefined ? clock : processor, ...peers)(row, 'rowan');
}

/** Times as long as the one peer of the row takes. */
export function longer(figures: Figures): Cell {
  return (row) => {
    const { rowan, ...peers } = figures(row);
    const [peer] = Object.values(peers);
    return rowan === undefined || peer === undefined ? '' : (peer / rowan).toFixed(2);
  };
}

/** A table in Markdown without empty lines and columns, and below it when, at which commit and on what kind of machine its rows were measured. */
export function render(grid: Grid, results: readonly BenchRow[]): string {
  const rows = new Map(results.map((row) => [row.row, row]));
  const measured = new Set<string>();
  const cellOf = ({ insert = '', contestant = 'rowan', cell }: Column, title: string, own?: Cell): string => {
    const row = rows.get(title.replace('*', insert));
    if (row === undefined) return '';
    if (row.measured !== undefined) measured.add(stampOf(row.measured));
    return (own ?? cell ?? grid.cell)(row, contestant);
  };
  const lines = grid.lines.map(([label, title, own]) => [
    label,
    ...grid.columns.map((column) => cellOf(column, title, own)),
  ]);
  const filled = lines.filter(([, ...cells]) => cells.some((text) => text !== ''));
  if (filled.length === 0)
    throw new Error(
      `no row of ${grid.file}.json is in its table: ${grid.lines.map(([, title]) => title).join('; ')}`,
    );
  const head = [grid.corner, ...grid.columns.map(({ label }) => label)];
  const shown = head.map((_, at) => at === 0 || filled.some((cells) => cells[at] !== ''));
  const table = [head, head.map(() => '---'), ...filled].map(
    (cells) => `| ${cells.filter((_, at) => shown[at]).join(' | ')} |`,
  );
  return `${table.join('\n')}\n\nMeasured ${[...measured].sort().join('; ')}.`;
}

function stampOf({ date, commit, machine }: NonNullable<BenchRow['measured']>): string {
  return `${date} (${commit}${machine === undefined ? '' : `, ${machine}`})`;
}
