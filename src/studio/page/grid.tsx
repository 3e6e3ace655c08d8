import {
  type ColumnDef,
  createTable,
  functionalUpdate,
  getCoreRowModel,
  type Header,
  type Table,
  type TableOptionsResolved,
  type TableState,
} from '@tanstack/table-core';
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RowPage, RowShown } from '../server/api.js';
import { RowFeed } from './feed.js';
import { ProblemBox } from './parts.js';
import type { PageAt } from './requests.js';

/** Pixels, as in the style sheet. */
const ROW_HEIGHT = 24;
const HEAD_HEIGHT = 40;
/** Rows beyond the edges of the view. */
const MARGIN = 12;
/** Browsers draw no element that is much higher. */
const MAX_HEIGHT = 30_000_000;

interface GridCell {
  readonly text: string;
  readonly kind: string;
  readonly hint?: string;
}

export interface GridColumn {
  readonly name: string;
  readonly title: string;
  readonly width: number;
  readonly cell: (row: RowShown) => GridCell;
}

interface GridProps {
  /** Names the question: another one begins anew. */
  readonly id: string;
  readonly columns: readonly GridColumn[];
  readonly fetchPage: (at: PageAt) => Promise<RowPage>;
  readonly open: (row: RowShown) => void;
  /** Rows at most. */
  readonly limit?: number | undefined;
}

/** A row in view; undefined until its page is there. */
interface GridRow {
  readonly index: number;
  readonly row: RowShown | undefined;
}

const NOT_LOADED: GridCell = { text: '…', kind: 'null' };

/** A table of any number of rows, of which those in view stand in the document. */
export function Grid({ id, columns, fetchPage, open, limit }: GridProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const [feed, setFeed] = useState<RowFeed>();
  const [selected, select] = useState(0);

  useEffect(() => {
    const next = new RowFeed(fetchPage, () => redraw((count) => count + 1), limit);
    setFeed(next);
    select(0);
    if (scroller.current !== null) scroller.current.scrollTop = 0;
    return () => next.close();
  }, [id]);

  const length = feed?.length ?? 0;
  const shown = Math.min(length, Math.floor(MAX_HEIGHT / ROW_HEIGHT));
  const rows = useRowsInView(shown, scroller);
  const { startIndex: first = 0, endIndex: last = 40 } = rows.range ?? {};
  // Behind every page that came, too: what is wanted may be behind it.
  useEffect(() => feed?.want(Math.max(0, first - MARGIN), last + MARGIN));

  const inView = rows
    .getVirtualItems()
    .filter(({ index }) => index < shown)
    .map(({ index }) => ({ index, row: feed?.rowAt(index) }));
  const table = useTable(columns, inView);
  const width = table.getTotalSize();
  const template = table
    .getVisibleLeafColumns()
    .map((column) => `${column.getSize()}px`)
    .join(' ');

  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.floor((scroller.current?.clientHeight ?? 0) / ROW_HEIGHT) - 2;
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
    };
    const step = event.key === 'Home' ? -selected : event.key === 'End' ? shown : steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const at = Math.max(0, Math.min(shown - 1, selected + step));
      select(at);
      rows.scrollToIndex(at);
    } else if (event.key === 'Enter') {
      const row = feed?.rowAt(selected);
      if (row !== undefined) open(row);
    }
  };

  const end = feed?.complete === true ? '' : '+';
  return (
    <section class="grid-box" aria-label="Rows">
      {feed?.failure !== undefined && <ProblemBox error={feed.failure} />}
      <div
        class="grid"
        role="grid"
        aria-label="Rows"
        aria-rowcount={feed?.complete === true ? length + 1 : -1}
        aria-activedescendant={shown > 0 ? `row-${selected}` : undefined}
        tabIndex={0}
        ref={scroller}
        onKeyDown={onKeyDown}
      >
        <div class="grid-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template, width }}>
          {table.getFlatHeaders().map((header) => (
            <HeadCell key={header.id} header={header} title={titleOf(columns, header.id)} />
          ))}
        </div>
        <div role="rowgroup" class="grid-body" style={{ height: shown * ROW_HEIGHT, width }}>
          {table.getRowModel().rows.map((line) => {
            const { index, row } = line.original;
            return (
              <div
                key={index}
                id={`row-${index}`}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={index === selected}
                class={`grid-row ${index % 2 === 1 ? 'odd' : ''} ${row?.problem === undefined ? '' : 'bad'}`}
                style={{ top: index * ROW_HEIGHT, gridTemplateColumns: template }}
                onClick={() => {
                  select(index);
                  if (row !== undefined) open(row);
                }}
              >
                {line.getVisibleCells().map((each) => {
                  const cell = each.getValue<GridCell>();
                  return (
                    <div
                      role="gridcell"
                      key={each.column.id}
                      class={`cell ${cell.kind}`}
                      title={cell.hint ?? cell.text}
                    >
                      {cell.text}
                    </div>
                  );
                })}
              </div>
            );
          })}
        </div>
      </div>
      <div class="grid-foot">
        <p class="status" role="status">
          {feed?.busy === true && length === 0
            ? 'Reading…'
            : `${length.toLocaleString('en')}${end} ${length === 1 && end === '' ? 'row' : 'rows'}${feed === undefined ? '' : ` · last page ${feed.took.toFixed(1)} ms`}`}
        </p>
        <ColumnChoice table={table} />
      </div>
    </section>
  );
}

const titleOf = (columns: readonly GridColumn[], name: string): string =>
  columns.find((column) => column.name === name)?.title ?? '';

interface HeadCellProps {
  readonly header: Header<GridRow, unknown>;
  readonly title: string;
}

/** The head of a column. Its right edge is dragged to make it wider. */
function HeadCell({ header, title }: HeadCellProps) {
  const resize = header.getResizeHandler();
  return (
    <div role="columnheader" class="cell" title={title}>
      {header.id}
      <small>{title}</small>
      <span class="resizer" aria-hidden="true" onMouseDown={resize} onTouchStart={resize} />
    </div>
  );
}

/** Which columns are shown. */
function ColumnChoice({ table }: { readonly table: Table<GridRow> }) {
  return (
    <details class="column-choice">
      <summary>Columns</summary>
      <fieldset>
        <legend class="unseen">Columns that are shown</legend>
        {table.getAllLeafColumns().map((column) => (
          <label key={column.id} class="switch">
            <input
              type="checkbox"
              checked={column.getIsVisible()}
              onChange={({ currentTarget }) => column.toggleVisibility(currentTarget.checked)}
            />
            {column.id}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

/** At least a count, and the same for many: TanStack Virtual computes all places anew for another one. */
const roomFor = (count: number): number => {
  const step = Math.max(1024, 2 ** (31 - Math.clz32(count)) / 8);
  return Math.ceil(count / step) * step;
};

/** TanStack Virtual over rows of one height. It may know of more rows than there are. */
function useRowsInView(
  count: number,
  scroller: RefObject<HTMLDivElement>,
): Virtualizer<HTMLDivElement, HTMLDivElement> {
  const [, redraw] = useState(0);
  const options: VirtualizerOptions<HTMLDivElement, HTMLDivElement> = {
    count: roomFor(count),
    overscan: MARGIN,
    estimateSize: () => ROW_HEIGHT,
    // The head stands above the rows, and stays there.
    scrollMargin: HEAD_HEIGHT,
    scrollPaddingStart: HEAD_HEIGHT,
    initialRect: { width: 0, height: 800 },
    getScrollElement: () => scroller.current,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw((times) => times + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}

/** TanStack Table over the rows in view: which columns there are, which are shown, and how wide. */
function useTable(columns: readonly GridColumn[], data: GridRow[]): Table<GridRow> {
  const options: TableOptionsResolved<GridRow> = {
    data,
    columns: columns.map(
      ({ name, title, width, cell }): ColumnDef<GridRow, GridCell> => ({
        id: name,
        header: title,
        size: width,
        minSize: 60,
        accessorFn: ({ row }) => (row === undefined ? NOT_LOADED : cell(row)),
      }),
    ),
    columnResizeMode: 'onChange',
    // The rows differ with every scroll: nothing is reset for that.
    autoResetAll: false,
    getCoreRowModel: getCoreRowModel(),
    getRowId: ({ index }) => String(index),
    renderFallbackValue: null,
    state: {},
    onStateChange: () => undefined,
  };
  const [table] = useState(() => createTable(options));
  const [state, setState] = useState<TableState>(table.initialState);
  table.setOptions((old) => ({
    ...old,
    ...options,
    getCoreRowModel: old.getCoreRowModel,
    state,
    onStateChange: (change) => setState((before) => functionalUpdate(change, before)),
  }));
  return table;
}
