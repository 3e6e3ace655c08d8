/** A table of any number of rows, of which those in view stand in the document. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RowPage, RowShown } from '../server/api.js';
import { RowFeed } from './feed.js';
import { ProblemBox } from './parts.js';
import type { PageAt } from './requests.js';

const ROW_HEIGHT = 24;
/** Rows beyond the edges of the view. */
const MARGIN = 12;
/** Browsers draw no element that is much higher. */
const MAX_HEIGHT = 30_000_000;

export interface GridColumn {
  readonly name: string;
  readonly title: string;
  readonly width: number;
  readonly cell: (row: RowShown) => { readonly text: string; readonly kind: string; readonly hint?: string };
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

export function Grid({ id, columns, fetchPage, open, limit }: GridProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const [feed, setFeed] = useState<RowFeed>();
  const [view, setView] = useState({ first: 0, last: 40 });
  const [selected, select] = useState(0);

  useEffect(() => {
    const next = new RowFeed(fetchPage, () => redraw((count) => count + 1), limit);
    setFeed(next);
    select(0);
    if (scroller.current !== null) scroller.current.scrollTop = 0;
    return () => next.close();
  }, [id]);

  const measure = (): void => {
    const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - MARGIN);
    const last = Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + MARGIN;
    setView((old) => (old.first === first && old.last === last ? old : { first, last }));
  };
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => feed?.want(view.first, view.last));

  const length = feed?.length ?? 0;
  const shown = Math.min(length, Math.floor(MAX_HEIGHT / ROW_HEIGHT));
  const width = columns.reduce((sum, column) => sum + column.width, 0);
  const template = columns.map((column) => `${column.width}px`).join(' ');

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
      reveal(scroller.current, at);
    } else if (event.key === 'Enter') {
      const row = feed?.rowAt(selected);
      if (row !== undefined) open(row);
    }
  };

  const rows = [];
  for (let index = view.first; index < Math.min(view.last, shown); index++) {
    const row = feed?.rowAt(index);
    rows.push(
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
        {columns.map((column) => {
          const cell = row === undefined ? { text: '…', kind: 'null' } : column.cell(row);
          return (
            <div role="gridcell" key={column.name} class={`cell ${cell.kind}`} title={cell.hint ?? cell.text}>
              {cell.text}
            </div>
          );
        })}
      </div>,
    );
  }
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
        onScroll={measure}
        onKeyDown={onKeyDown}
      >
        <div class="grid-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template, width }}>
          {columns.map((column) => (
            <div role="columnheader" key={column.name} class="cell" title={column.title}>
              {column.name}
              <small>{column.title}</small>
            </div>
          ))}
        </div>
        <div role="rowgroup" class="grid-body" style={{ height: shown * ROW_HEIGHT, width }}>
          {rows}
        </div>
      </div>
      <p class="status" role="status">
        {feed?.busy === true && length === 0
          ? 'Reading…'
          : `${length.toLocaleString('en')}${end} rows${feed === undefined ? '' : ` · last page ${feed.took.toFixed(1)} ms`}`}
      </p>
    </section>
  );
}

function reveal(box: HTMLDivElement | null, index: number): void {
  if (box === null) return;
  const head = 40;
  const top = index * ROW_HEIGHT;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW_HEIGHT + head > box.scrollTop + box.clientHeight)
    box.scrollTop = top + ROW_HEIGHT + head - box.clientHeight;
}
