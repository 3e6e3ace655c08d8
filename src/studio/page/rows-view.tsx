/** Rows of an entity with the form of its key, and rows of a table as they are sorted. */

import type { CellShown, EntityInfo, Question, RowShown, SavedQuery, TableInfo } from '../server/api.js';
import { Grid, type GridColumn } from './grid.js';
import { KeyForm } from './key-form.js';
import { RegionBar } from './load-view.js';
import { Families } from './overview.js';
import { ProblemBox, textOf, timeText, useLoaded } from './parts.js';
import { exportAddress, requests } from './requests.js';
import { entityHash, go, hashOf, rowHash } from './routes.js';

const openRow =
  (table: string) =>
  (row: RowShown): void => {
    location.hash = rowHash(table, row.row);
  };

interface EntityViewProps {
  readonly entity: EntityInfo;
  readonly question: Question;
  readonly raw: boolean;
  readonly writable: boolean;
  /** Undefined: queries cannot be saved. */
  readonly save: ((query: SavedQuery) => void) | undefined;
}

export function EntityView({ entity, question, raw, writable, save }: EntityViewProps) {
  const { name, table } = entity;
  const show = (next: Question, asRaw: boolean): void =>
    go({ kind: 'entity', entity: name, question: next, raw: asRaw });
  return (
    <div class="rows-view">
      <h1>
        {name}
        <small>
          in <a href={hashOf({ kind: 'table', table, from: '', raw: false })}>{table}</a>
        </small>
        <span class="aside">
          <RawSwitch raw={raw} set={(next) => show(question, next)} />
          <a href={hashOf({ kind: 'load', entity: name })}>Heat map</a>
          {entity.changes && <a href={hashOf({ kind: 'live', entity: name, question: {} })}>Live</a>}
          {writable && <a href={hashOf({ kind: 'insert', entity: name })}>Insert</a>}
        </span>
      </h1>
      <KeyForm key={name} entity={entity} question={question} run={(next) => show(next, raw)} save={save} />
      <nav class="exports" aria-label="Save the rows as a file">
        <small>Save the first {(question.limit ?? 1000).toLocaleString('en')} rows as</small>
        {FORMATS.map(([format, title]) => (
          <a key={format} href={exportAddress(name, question, format)} download>
            {title}
          </a>
        ))}
      </nav>
      <Grid
        key={`${name} ${raw}`}
        id={JSON.stringify([name, question, raw])}
        columns={raw ? RAW_COLUMNS.filter((column) => column.name !== 'entity') : entityColumns(entity)}
        fetchPage={(at) => requests.rows(name, question, raw, at)}
        open={openRow(table)}
        limit={question.limit}
      />
    </div>
  );
}

const FORMATS = [
  ['ndjson', 'NDJSON'],
  ['csv', 'CSV'],
  ['parquet', 'Parquet'],
  ['ts', 'TypeScript'],
] as const;

function RawSwitch({ raw, set }: { readonly raw: boolean; readonly set: (raw: boolean) => void }) {
  return (
    <label class="switch">
      <input type="checkbox" checked={raw} onChange={({ currentTarget }) => set(currentTarget.checked)} />
      as HBase has it
    </label>
  );
}

function entityColumns(entity: EntityInfo): GridColumn[] {
  const column = (name: string, title: string, width: number): GridColumn => ({
    name,
    title,
    width,
    cell: ({ values, problem }) => {
      const value = values[name];
      if (value === undefined)
        return {
          text: '',
          kind: problem === undefined ? 'null' : 'lost',
          ...(problem !== undefined && { hint: problem }),
        };
      return {
        text: textOf(value),
        kind: value.type,
        hint:
          value.time === 0
            ? textOf(value)
            : `${textOf(value)}\n${value.bytes} bytes, written ${timeText(value.time)}`,
      };
    },
  });
  const keyed = new Set(entity.parts.map(({ name }) => name));
  return [
    ...entity.parts.map(({ name, codec }) => column(name, codec, widthOf(codec, name))),
    ...entity.columns
      .filter(({ property }) => !keyed.has(property))
      .map(({ property, codec, family, qualifier }) =>
        column(property, `${family}:${qualifier} ${codec}`, widthOf(codec, property)),
      ),
  ];
}

/** Pixels: a date needs 200, the name of a column its own length. */
const widthOf = (codec: string, name: string): number =>
  Math.max(
    Math.min(240, name.length * 8 + 24),
    /int|float|bool/.test(codec) ? 100 : /date|time/i.test(codec) ? 200 : 170,
  );

const RAW_COLUMNS: readonly GridColumn[] = [
  {
    name: 'row',
    title: 'escaped bytes',
    width: 240,
    cell: ({ printed }) => ({ text: printed, kind: 'bytes' }),
  },
  { name: 'entity', title: 'by its key', width: 100, cell: entityCell },
  {
    name: 'decoded',
    title: 'by its entity',
    width: 360,
    cell: ({ values, problem }) => ({
      text: problem ?? valuesText(values),
      kind: problem === undefined ? '' : 'lost',
    }),
  },
  {
    name: 'cells',
    title: 'family:qualifier @time = value, every version and tombstone',
    width: 900,
    cell: ({ cells = [] }) => ({ text: cells.map(cellText).join('   '), kind: 'bytes' }),
  },
];

const TABLE_COLUMNS: readonly GridColumn[] = [
  { name: 'entity', title: 'by its key', width: 110, cell: entityCell },
  {
    name: 'row',
    title: 'escaped bytes',
    width: 280,
    cell: ({ printed }) => ({ text: printed, kind: 'bytes' }),
  },
  {
    name: 'values',
    title: 'key and columns',
    width: 900,
    cell: ({ values, problem }) => ({
      text: problem ?? valuesText(values),
      kind: problem === undefined ? '' : 'lost',
    }),
  },
];

function entityCell({ entity }: RowShown): { text: string; kind: string } {
  return { text: entity ?? 'unknown', kind: entity === null ? 'lost' : `entity hue-${hue(entity)}` };
}

/** One of eight, the same for a name at every time. */
function hue(name: string): number {
  let sum = 0;
  for (const character of name) sum = (sum * 31 + character.charCodeAt(0)) % 997;
  return sum % 8;
}

const cellText = ({ family, qualifier, time, type, value }: CellShown): string =>
  type === 'Put' ? `${family}:${qualifier} @${time} = ${value}` : `${family}:${qualifier} @${time} ${type}`;

const valuesText = (values: RowShown['values']): string =>
  Object.entries(values)
    .map(([name, value]) => `${name} ${textOf(value)}`)
    .join(' · ');

interface TableViewProps {
  readonly table: TableInfo;
  readonly from: string;
  readonly raw: boolean;
}

export function TableView({ table, from, raw }: TableViewProps) {
  const regions = useLoaded(() => requests.regions(table.name), table.name);
  const show = (next: string, asRaw: boolean): void =>
    go({ kind: 'table', table: table.name, from: next, raw: asRaw });
  return (
    <div class="rows-view">
      <h1>
        {table.name}
        <small>
          {table.entities.map((name, at) => (
            <span key={name}>
              {at > 0 && ', '}
              <a href={entityHash(name)}>{name}</a>
            </span>
          ))}
        </small>
        <span class="aside">
          <RawSwitch raw={raw} set={(next) => show(from, next)} />
        </span>
      </h1>
      <details>
        <summary>
          {table.families.length} {table.families.length === 1 ? 'family' : 'families'}
        </summary>
        <Families families={table.families} />
      </details>
      {regions instanceof Error && <ProblemBox error={regions} />}
      {Array.isArray(regions) && (
        <RegionBar table={table.name} regions={regions} open={(start) => show(start, raw)} />
      )}
      <form
        class="from"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget as HTMLFormElement).get('from');
          show(String(given ?? ''), raw);
        }}
      >
        <label for="from-row">from row</label>
        <input
          key={from}
          id="from-row"
          name="from"
          type="text"
          data-first=""
          defaultValue={from}
          spellcheck={false}
          placeholder="as HBase prints it, for example \x07c1\x00"
        />
        <button type="submit" class="main">
          Show rows
        </button>
      </form>
      <Grid
        key={`${table.name} ${raw}`}
        id={JSON.stringify([table.name, from, raw])}
        columns={raw ? RAW_COLUMNS : TABLE_COLUMNS}
        fetchPage={(at) => requests.table(table.name, from, raw, at)}
        open={openRow(table.name)}
      />
    </div>
  );
}
