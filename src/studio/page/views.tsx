/** The views: tables and entities, rows of an entity, rows of a table, one row, the schema. */

import type {
  Catalog,
  CellShown,
  EntityInfo,
  FamilyInfo,
  Question,
  RegionShown,
  RowShown,
  TableInfo,
} from '../server/api.js';
import { Grid, type GridColumn } from './grid.js';
import { KeyForm } from './key-form.js';
import { Code, Pieces, ProblemBox, sizeText, textOf, timeText, useLoaded } from './parts.js';
import { exportAddress, requests } from './requests.js';
import { go, hashOf } from './routes.js';

export function Overview({ catalog }: { readonly catalog: Catalog }) {
  return (
    <>
      <h1>Tables</h1>
      <div class="cards">
        {catalog.tables
          .filter(({ kind }) => kind !== 'system')
          .map((table) => (
            <TableCard key={table.name} table={table} catalog={catalog} />
          ))}
      </div>
      {catalog.tables.some(({ kind }) => kind === 'system') && (
        <details>
          <summary>Tables that Rowan keeps itself</summary>
          <ul>
            {catalog.tables
              .filter(({ kind }) => kind === 'system')
              .map(({ name }) => (
                <li key={name}>
                  <a href={hashOf({ kind: 'table', table: name, from: '', raw: false })}>{name}</a>
                </li>
              ))}
          </ul>
        </details>
      )}
    </>
  );
}

function TableCard({ table, catalog }: { readonly table: TableInfo; readonly catalog: Catalog }) {
  const entities = catalog.entities.filter((entity) => entity.table === table.name);
  return (
    <section class="card" aria-label={table.name}>
      <h2>
        <a href={hashOf({ kind: 'table', table: table.name, from: '', raw: false })}>{table.name}</a>
      </h2>
      <Families families={table.families} />
      {entities.map((entity) => (
        <div key={entity.name} class="entity-line">
          <a href={hashOf({ kind: 'entity', entity: entity.name, question: {}, raw: false })}>
            {entity.name}
          </a>
          {entity.recordType !== null && <small> record type {entity.recordType}</small>}
          <code class="layout">{entity.layout}</code>
          {entity.indexes.length > 0 && (
            <small>indexes {entity.indexes.map(({ name }) => name).join(', ')}</small>
          )}
          {entity.summaries.length > 0 && (
            <small>summaries {entity.summaries.map(({ name }) => name).join(', ')}</small>
          )}
          {entity.copies.map(({ from, properties }) => (
            <small key={from}>
              {properties.join(', ')} copied from {from}
            </small>
          ))}
        </div>
      ))}
    </section>
  );
}

function Families({ families }: { readonly families: readonly FamilyInfo[] }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Families">
      <table>
        <thead>
          <tr>
            <th scope="col">family</th>
            <th scope="col">compression</th>
            <th scope="col">encoding</th>
            <th scope="col">versions</th>
            <th scope="col">on disk</th>
            <th scope="col">in memory</th>
            <th scope="col">cells</th>
          </tr>
        </thead>
        <tbody>
          {families.map(({ name, compression, encoding, maxVersions, counted }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{compression}</td>
              <td>{encoding}</td>
              <td>{maxVersions}</td>
              <td>
                {counted === null ? '–' : `${sizeText(counted.fileBytes)} of ${sizeText(counted.rawBytes)}`}
              </td>
              <td>{counted === null ? '–' : sizeText(counted.memstoreBytes)}</td>
              <td>{counted === null ? '–' : counted.cells.toLocaleString('en')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const openRow = (table: string) => (row: RowShown) => go({ kind: 'row', table, row: row.row });

interface EntityViewProps {
  readonly entity: EntityInfo;
  readonly question: Question;
  readonly raw: boolean;
}

export function EntityView({ entity, question, raw }: EntityViewProps) {
  const show = (next: Question, asRaw: boolean): void =>
    go({ kind: 'entity', entity: entity.name, question: next, raw: asRaw });
  return (
    <div class="rows-view">
      <h1>
        {entity.name} <small>{entity.table}</small>
        <RawSwitch raw={raw} set={(next) => show(question, next)} />
      </h1>
      <KeyForm key={entity.name} entity={entity} question={question} run={(next) => show(next, raw)} />
      <Exports entity={entity.name} question={question} />
      <Grid
        id={JSON.stringify([entity.name, question, raw])}
        columns={raw ? RAW_COLUMNS : entityColumns(entity)}
        fetchPage={(at) => requests.rows(entity.name, question, raw, at)}
        open={openRow(entity.table)}
      />
    </div>
  );
}

/** The rows that are asked for as files. */
function Exports({ entity, question }: { readonly entity: string; readonly question: Question }) {
  return (
    <nav class="exports" aria-label="Save the rows as a file">
      Save the first 1,000 rows:
      {FORMATS.map(([format, title]) => (
        <a key={format} href={exportAddress(entity, question, format)} download>
          {title}
        </a>
      ))}
    </nav>
  );
}

const FORMATS = [
  ['ndjson', 'NDJSON'],
  ['csv', 'CSV'],
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
    ...entity.parts.map(({ name, codec }) => column(name, codec, widthOf(codec))),
    ...entity.columns
      .filter(({ property }) => !keyed.has(property))
      .map(({ property, codec, family, qualifier }) =>
        column(property, `${family}:${qualifier} ${codec}`, widthOf(codec)),
      ),
  ];
}

const widthOf = (codec: string): number =>
  /int|float|bool/.test(codec) ? 120 : /date|time/i.test(codec) ? 230 : 200;

const RAW_COLUMNS: readonly GridColumn[] = [
  {
    name: 'row',
    title: 'escaped bytes',
    width: 320,
    cell: ({ printed }) => ({ text: printed, kind: 'bytes' }),
  },
  { name: 'entity', title: 'by its key', width: 110, cell: entityCell },
  {
    name: 'cells',
    title: 'family:qualifier @time = value, every version and tombstone',
    width: 900,
    cell: ({ cells = [] }) => ({ text: cells.map(cellText).join('   '), kind: 'bytes' }),
  },
  {
    name: 'decoded',
    title: 'the same by its entity',
    width: 700,
    cell: ({ values, problem }) => ({
      text: problem ?? valuesText(values),
      kind: problem === undefined ? '' : 'lost',
    }),
  },
];

const TABLE_COLUMNS: readonly GridColumn[] = [
  { name: 'entity', title: 'by its key', width: 110, cell: entityCell },
  {
    name: 'row',
    title: 'escaped bytes',
    width: 320,
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
        {table.name} <small>{table.entities.join(', ')}</small>
        <RawSwitch raw={raw} set={(next) => show(from, next)} />
      </h1>
      <details>
        <summary>Families</summary>
        <Families families={table.families} />
      </details>
      {regions instanceof Error && <ProblemBox error={regions} />}
      {Array.isArray(regions) && <RegionBar regions={regions} open={(start) => show(start, raw)} />}
      <form
        class="from"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget as HTMLFormElement).get('from');
          show(String(given ?? ''), raw);
        }}
      >
        <label>
          from row (as HBase prints it)
          <input
            key={from}
            name="from"
            type="text"
            data-first=""
            defaultValue={from}
            spellcheck={false}
            placeholder="\x07c1\x00"
          />
        </label>
        <button type="submit" class="main">
          Show rows
        </button>
      </form>
      <Grid
        id={JSON.stringify([table.name, from, raw])}
        columns={raw ? RAW_COLUMNS : TABLE_COLUMNS}
        fetchPage={(at) => requests.table(table.name, from, raw, at)}
        open={openRow(table.name)}
      />
    </div>
  );
}

interface RegionBarProps {
  readonly regions: readonly RegionShown[];
  readonly open: (start: string) => void;
}

/** The regions side by side over the space of keys, as wide as what they hold. */
function RegionBar({ regions, open }: RegionBarProps) {
  const weight = ({ fileBytes, memstoreBytes }: RegionShown): number => fileBytes + memstoreBytes;
  const total = regions.reduce((sum, region) => sum + weight(region), 0);
  return (
    <nav class="regions" aria-label="Regions, as wide as what they hold">
      {regions.map((region) => (
        <button
          type="button"
          key={region.start}
          style={{ flexGrow: total === 0 ? 1 : Math.max(0.04, weight(region) / total) }}
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

interface RowViewProps {
  readonly table: string;
  readonly row: string;
  readonly catalog: Catalog;
}

export function RowView({ table, row, catalog }: RowViewProps) {
  const detail = useLoaded(() => requests.row(table, row), `${table}/${row}`);
  if (detail === undefined) return <p role="status">Reading…</p>;
  if (detail instanceof Error) return <ProblemBox error={detail} />;
  const entity = catalog.entities.find(({ name }) => name === detail.row.entity);
  return (
    <article>
      <h1>
        {detail.row.entity ?? 'A row of no entity'} <small>{table}</small>
      </h1>
      {detail.pieces === null ? <code>{detail.row.printed}</code> : <Pieces pieces={detail.pieces} />}
      {detail.row.problem !== undefined && (
        <p class="problem">
          <strong>Not decoded</strong> {detail.row.problem}
        </p>
      )}
      {entity !== undefined && entity.relations.length > 0 && (
        <nav class="relations" aria-label="Leads to">
          {entity.relations.map(({ property, kind, entity: other, via }) => {
            const key = Object.fromEntries(
              via.map(([part, from]) => [part, textOf(detail.row.values[from])] as const),
            );
            if (Object.values(key).includes('')) return null;
            return (
              <a
                key={property}
                href={hashOf({ kind: 'entity', entity: other, question: { key }, raw: false })}
              >
                {property} → {kind === 'one' ? other : `${other}, many`}
              </a>
            );
          })}
        </nav>
      )}
      <h2>Values</h2>
      <dl class="values">
        {Object.entries(detail.row.values).map(([name, value]) => (
          <div key={name}>
            <dt>
              {name}
              <small>
                {value.time === 0 ? 'key' : `${value.type}, ${value.bytes} bytes, ${timeText(value.time)}`}
              </small>
            </dt>
            <dd>
              {value.type === 'json' ? (
                <Tree value={value.value} />
              ) : (
                <span class={value.type}>{textOf(value)}</span>
              )}
            </dd>
          </div>
        ))}
      </dl>
      <h2>Cells, every version and tombstone</h2>
      <Cells cells={detail.cells} />
      {detail.code !== '' && <Code label="TypeScript" text={detail.code} />}
    </article>
  );
}

function Cells({ cells }: { readonly cells: readonly CellShown[] }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Cells">
      <table class="cells">
        <thead>
          <tr>
            <th scope="col">column</th>
            <th scope="col">property</th>
            <th scope="col">written</th>
            <th scope="col">bytes</th>
            <th scope="col">decoded</th>
            <th scope="col">as HBase has it</th>
          </tr>
        </thead>
        <tbody>
          {cells.map((cell, at) => {
            const before = cells[at + 1];
            const column = `${cell.family}:${cell.qualifier}`;
            const older = at > 0 && column === `${cells[at - 1]!.family}:${cells[at - 1]!.qualifier}`;
            const same =
              before?.family === cell.family &&
              before.qualifier === cell.qualifier &&
              before.value === cell.value;
            return (
              <tr key={at} class={`${older ? 'older' : ''} ${cell.type === 'Put' ? '' : 'tombstone'}`}>
                <th scope="row">{column}</th>
                <td>{cell.property ?? ''}</td>
                <td>
                  {timeText(cell.time)}
                  {cell.timeToLive !== undefined && <small> lives {cell.timeToLive / 1000} s</small>}
                </td>
                <td>{cell.bytes}</td>
                <td class={cell.problem === undefined ? '' : 'lost'}>
                  {cell.problem ?? (cell.type === 'Put' ? textOf(cell.decoded) : cell.type)}
                  {same && <small> as before</small>}
                </td>
                <td>
                  <code>
                    {cell.value}
                    {cell.cut === true && '…'}
                  </code>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

type TreeValue = RowShown['values'][string]['value'];

/** A nested value, to be opened level by level. */
function Tree({ value }: { readonly value: TreeValue }) {
  if (typeof value !== 'object' || value === null) return <code>{JSON.stringify(value)}</code>;
  const entries = Object.entries(value as Readonly<Record<string, TreeValue>>);
  return (
    <details open={entries.length <= 12}>
      <summary>{Array.isArray(value) ? `${entries.length} items` : `${entries.length} fields`}</summary>
      <ul class="tree">
        {entries.map(([name, of]) => (
          <li key={name}>
            <b>{name}</b> <Tree value={of} />
          </li>
        ))}
      </ul>
    </details>
  );
}

export function SchemaView() {
  const report = useLoaded(requests.schema, 'schema');
  if (report === undefined) return <p role="status">Reading…</p>;
  if (report instanceof Error) return <ProblemBox error={report} />;
  return (
    <>
      <h1>Schema</h1>
      <Code label={`From the tables to the declarations: ${report.steps} steps`} text={report.plan} />
      <h2>Lint</h2>
      {report.findings.length === 0 && <p>Nothing stands against the declarations.</p>}
      <ul class="findings">
        {report.findings.map(({ severity, code, text }) => (
          <li key={`${code} ${text}`} class={severity}>
            <b>{severity}</b> {text}
          </li>
        ))}
      </ul>
      <Code label="The tables for HBase's shell" text={report.script} />
    </>
  );
}
