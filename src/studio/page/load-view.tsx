/** Where rows and load are: regions over the key space, rows by salt, counters over time. */

import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { Catalog, Counters, HeatMap, RegionShown, TableInfo } from '../server/api.js';
import { ProblemBox, sizeText, useLoaded } from './parts.js';
import { requests } from './requests.js';
import { go, hashOf } from './routes.js';

interface LoadViewProps {
  readonly catalog: Catalog;
  /** The entity whose heat map is shown; empty: none. */
  readonly entity: string;
}

export function LoadView({ catalog, entity }: LoadViewProps) {
  const tables = catalog.tables.filter(({ kind }) => kind !== 'system');
  return (
    <>
      <h1>
        Load <small>where rows are, and what the engine does</small>
      </h1>
      <CounterPlots />
      <h2>
        Rows by salt and leading part
        {catalog.entities.length > 0 && (
          <span class="aside">
            <label>
              entity{' '}
              <select
                data-first=""
                value={entity}
                onChange={({ currentTarget }) => go({ kind: 'load', entity: currentTarget.value })}
              >
                <option value="">choose one</option>
                {catalog.entities.map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
          </span>
        )}
      </h2>
      {entity === '' ? <p>Choose an entity to count its rows.</p> : <Heat key={entity} entity={entity} />}
      {tables.map((table) => (
        <TableRegions key={table.name} table={table} />
      ))}
    </>
  );
}

function Heat({ entity }: { readonly entity: string }) {
  const heat = useLoaded(() => requests.heat(entity), `heat ${entity}`);
  if (heat === undefined) return <p role="status">Counting…</p>;
  if (heat instanceof Error) return <ProblemBox error={heat} />;
  const { lanes, groups, rows, counted, complete, part } = heat;
  const greatest = Math.max(1, ...rows.flat());
  return (
    <section class="card" aria-label={`Rows of ${entity}`}>
      <p>
        {counted.toLocaleString('en')} rows{complete ? '' : ' counted; each salt up to a limit only'}.{' '}
        {skewOf(heat)}
      </p>
      <div class="scroll" tabIndex={0} role="group" aria-label="Heat map, scrollable">
        <table class="heat">
          <thead>
            <tr>
              <th scope="col">{lanes.length > 1 ? 'salt' : ''}</th>
              {groups.map((group) => (
                <th key={group} scope="col" title={group}>
                  <span>{group}</span>
                </th>
              ))}
              <th scope="col" class="number">
                rows
              </th>
            </tr>
          </thead>
          <tbody>
            {lanes.map((lane, at) => (
              <tr key={lane}>
                <th scope="row">
                  <code>{lane === '' ? 'all keys' : lane}</code>
                </th>
                {rows[at]!.map((count, column) => (
                  <td
                    key={groups[column]}
                    title={`${part} ${groups[column]}: ${count.toLocaleString('en')} rows`}
                  >
                    <span
                      class="heat-cell"
                      style={{ opacity: count === 0 ? 0.04 : 0.15 + (0.85 * count) / greatest }}
                    />
                  </td>
                ))}
                <td class="number">{sum(rows[at]!).toLocaleString('en')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <small>
        Columns: {part}
        {groups.some((group) => group.includes(' … ')) && ', neighbors together'}. The fullest cell has{' '}
        {greatest.toLocaleString('en')} rows.
      </small>
    </section>
  );
}

const sum = (counts: readonly number[]): number => counts.reduce((total, each) => total + each, 0);

/** A sentence on how evenly rows are spread. */
function skewOf({ lanes, groups, rows, part }: HeatMap): string {
  const totals = rows.map(sum);
  const all = sum(totals);
  if (all === 0) return 'There are no rows.';
  const most = Math.max(...totals);
  const lane = totals.indexOf(most);
  const byGroup = groups.map((_, at) => sum(rows.map((line) => line[at] ?? 0)));
  const greatest = Math.max(...byGroup);
  const share = `${Math.round((greatest / all) * 100)} % of them have ${part} ${groups[byGroup.indexOf(greatest)]}.`;
  if (lanes.length < 2) return share;
  const times = most / (all / lanes.length);
  const verdict = times > 2 ? 'a hot spot' : 'even enough';
  return `The fullest salt, ${lanes[lane]}, has ${times.toFixed(1)} times the mean: ${verdict}. ${share}`;
}

function TableRegions({ table }: { readonly table: TableInfo }) {
  const regions = useLoaded(() => requests.regions(table.name), `load ${table.name}`);
  if (regions === undefined) return <p role="status">Reading…</p>;
  if (regions instanceof Error) return <ProblemBox error={regions} />;
  const open = (from: string): void => go({ kind: 'table', table: table.name, from, raw: false });
  return (
    <section class="card" aria-label={`Regions of ${table.name}`}>
      <h2>
        <a href={hashOf({ kind: 'table', table: table.name, from: '', raw: false })}>{table.name}</a>
        <small>
          {regions.length} {regions.length === 1 ? 'region' : 'regions'}
        </small>
      </h2>
      <RegionBar table={table.name} regions={regions} open={open} />
      <div class="scroll" tabIndex={0} role="group" aria-label={`Regions of ${table.name}, scrollable`}>
        <table>
          <thead>
            <tr>
              <th scope="col">from</th>
              <th scope="col">to below</th>
              <th scope="col">server</th>
              <th scope="col" class="number">
                files
              </th>
              <th scope="col" class="number">
                on disk
              </th>
              <th scope="col" class="number">
                in memory
              </th>
              <th scope="col" class="number">
                reads
              </th>
              <th scope="col" class="number">
                writes
              </th>
            </tr>
          </thead>
          <tbody>
            {regions.map((region) => (
              <tr key={region.start}>
                <th scope="row">
                  <code>{region.start || '(start)'}</code>
                </th>
                <td>
                  <code>{region.end || '(end)'}</code>
                </td>
                <td>{region.server}</td>
                <td class="number">{region.files}</td>
                <td class="number">{sizeText(region.fileBytes)}</td>
                <td class="number">{sizeText(region.memstoreBytes)}</td>
                <td class="number">{region.reads.toLocaleString('en')}</td>
                <td class="number">{region.writes.toLocaleString('en')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface RegionBarProps {
  readonly table: string;
  readonly regions: readonly RegionShown[];
  readonly open: (start: string) => void;
}

/** The regions side by side over the key space, as wide as what they hold, as dark as they are asked. */
export function RegionBar({ table, regions, open }: RegionBarProps) {
  const weight = ({ fileBytes, memstoreBytes }: RegionShown): number => fileBytes + memstoreBytes;
  const load = ({ reads, writes }: RegionShown): number => reads + writes;
  const total = regions.reduce((all, region) => all + weight(region), 0);
  const busiest = Math.max(1, ...regions.map(load));
  return (
    <nav class="regions" aria-label={`Regions of ${table}, as wide as what they hold`}>
      {regions.map((region) => (
        <button
          type="button"
          key={region.start}
          style={{
            flexGrow: total === 0 ? 1 : Math.max(0.04, weight(region) / total),
            '--load': String(load(region) / busiest),
          }}
          title={`from ${region.start || 'the beginning'} to ${region.end || 'the end'}\n${region.files} files, ${sizeText(region.fileBytes)} on disk, ${sizeText(region.memstoreBytes)} in memory\n${region.reads} reads, ${region.writes} writes, on ${region.server}`}
          onClick={() => open(region.start)}
        >
          <code>{region.start || '(start)'}</code>
          <small>{sizeText(weight(region))}</small>
        </button>
      ))}
    </nav>
  );
}

/** Seconds that plots go back. */
const SPAN = 300;

interface PlotOf {
  readonly title: string;
  readonly unit: 'rate' | 'bytes' | 'bytes a second' | 'share';
  readonly value: (now: Counters, before: Counters, seconds: number) => number | null;
}

/** The least maximum of an axis. */
const LEAST: Readonly<Record<PlotOf['unit'], number>> = {
  rate: 10,
  bytes: 1024,
  'bytes a second': 1024,
  share: 100,
};

const PLOTS: readonly PlotOf[] = [
  { title: 'Writes a second', unit: 'rate', value: (now, before, s) => (now.writes - before.writes) / s },
  { title: 'Reads a second', unit: 'rate', value: (now, before, s) => (now.reads - before.reads) / s },
  { title: 'In memory', unit: 'bytes', value: (now) => now.memstoreBytes },
  {
    title: 'Flushed',
    unit: 'bytes a second',
    value: (now, before, s) =>
      now.store === null || before.store === null
        ? null
        : (now.store.bytesFlushed - before.store.bytesFlushed) / s,
  },
  {
    title: 'Compacted',
    unit: 'bytes a second',
    value: (now, before, s) =>
      now.store === null || before.store === null
        ? null
        : (now.store.bytesCompacted - before.store.bytesCompacted) / s,
  },
  {
    title: 'Found in the block cache',
    unit: 'share',
    value: (now, before) => {
      if (now.store === null || before.store === null) return null;
      const hits = now.store.cacheHits - before.store.cacheHits;
      const misses = now.store.cacheMisses - before.store.cacheMisses;
      return hits + misses === 0 ? null : (100 * hits) / (hits + misses);
    },
  },
];

/** Asks for the counters once a second while it is shown. */
function CounterPlots() {
  const [samples, setSamples] = useState<readonly Counters[]>([]);
  const [failure, setFailure] = useState<Error>();
  useEffect(() => {
    const left = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = (): void => {
      requests.counters(left.signal).then(
        (next) => {
          setSamples((all) => [...all, next].slice(-SPAN));
          timer = setTimeout(ask, 1000);
        },
        (error: Error) => !left.signal.aborted && setFailure(error),
      );
    };
    ask();
    return () => {
      left.abort();
      clearTimeout(timer);
    };
  }, []);
  if (failure !== undefined) return <ProblemBox error={failure} />;
  const [first] = samples;
  const plots = PLOTS.filter(({ unit }) => first?.store !== null || unit === 'rate' || unit === 'bytes');
  return (
    <section class="plots" aria-label="Counters over time">
      {plots.map((plot) => (
        <Plot key={plot.title} plot={plot} samples={samples} />
      ))}
    </section>
  );
}

function Plot({ plot, samples }: { readonly plot: PlotOf; readonly samples: readonly Counters[] }) {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot | undefined>(undefined);
  const times = samples.slice(1).map(({ time }) => time / 1000);
  const values = samples.slice(1).map((now, at) => {
    const before = samples[at]!;
    return plot.value(now, before, Math.max(0.001, (now.time - before.time) / 1000));
  });
  useEffect(() => {
    const place = box.current!;
    const style = getComputedStyle(place);
    const [accent, faint, line] = ['--accent', '--faint', '--line'].map((name) => drawable(style, name));
    const axis = { stroke: faint!, grid: { stroke: line!, width: 1 }, ticks: { show: false } };
    drawn.current = new uPlot(
      {
        width: place.clientWidth,
        height: 110,
        legend: { show: false },
        cursor: { show: false },
        scales: {
          // Of a single sample uPlot makes years: before two are there, the last seconds.
          x: {
            range: (_, least, most) => (least < most && most - least < HOUR ? [least, most] : lastSeconds()),
          },
          y: { range: (_, __, most) => [0, Math.max(LEAST[plot.unit], (most ?? 0) * 1.1)] },
        },
        axes: [
          { ...axis, size: 22, space: 90 },
          { ...axis, size: 58, space: 30, values: (_, ticks) => ticks.map((tick) => valueText(plot, tick)) },
        ],
        series: [{}, { stroke: accent!, width: 1.5, points: { show: false } }],
      },
      [[], []],
      place,
    );
    const observer = new ResizeObserver(() =>
      drawn.current?.setSize({ width: place.clientWidth, height: 110 }),
    );
    observer.observe(place);
    return () => {
      observer.disconnect();
      drawn.current?.destroy();
    };
  }, []);
  useEffect(() => drawn.current?.setData([times, values]));
  const now = values.at(-1);
  return (
    <figure>
      <figcaption>
        {plot.title} <b>{now == null ? '–' : valueText(plot, now)}</b>
      </figcaption>
      <div ref={box} aria-hidden="true" />
    </figure>
  );
}

/** Seconds; the samples that are kept are of less. */
const HOUR = 3600;

const lastSeconds = (): [number, number] => [Date.now() / 1000 - 10, Date.now() / 1000];

/** A color of the style sheet as a canvas takes it. */
function drawable(style: CSSStyleDeclaration, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color || style.color;
}

function valueText({ unit }: PlotOf, value: number): string {
  if (unit === 'share') return `${Math.round(value)} %`;
  if (unit === 'rate') return Math.round(value).toLocaleString('en');
  return unit === 'bytes' ? sizeText(Math.round(value)) : `${sizeText(Math.round(value))}/s`;
}
