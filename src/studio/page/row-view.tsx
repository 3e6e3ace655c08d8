import type { Catalog, CellShown, EntityInfo, FamilyInfo, Json, RowDetail } from '../server/api.js';
import { Code, Pieces, ProblemBox, spanText, textOf, timeText, useLoaded } from './parts.js';
import { requests, valueAddress } from './requests.js';
import { entityHash, go, hashOf } from './routes.js';
import { Bytes, Difference, Tree } from './value-view.js';
import { RowWrites } from './write-form.js';

interface RowViewProps {
  readonly table: string;
  readonly row: string;
  readonly column: string;
  readonly edit: boolean;
  readonly catalog: Catalog;
  /** Counts writes of this page: the row is read again behind each. */
  readonly changes: number;
}

/** One row: its key, values, relations, and every version of its cells. */
export function RowView({ table, row, column, edit, catalog, changes }: RowViewProps) {
  const detail = useLoaded(() => requests.row(table, row), `${table}/${row}/${changes}`);
  if (detail === undefined) return <p role="status">Reading…</p>;
  if (detail instanceof Error) return <ProblemBox error={detail} />;
  const entity = catalog.entities.find(({ name }) => name === detail.row.entity);
  const families = catalog.tables.find(({ name }) => name === table)?.families ?? [];
  return (
    <article>
      <h1>
        {detail.row.entity ?? 'A row of no entity'}
        <small>
          in <a href={hashOf({ kind: 'table', table, from: detail.row.printed, raw: false })}>{table}</a>
        </small>
        {entity !== undefined && catalog.writable && (
          <span class="aside">
            <a href={hashOf({ kind: 'row', table, row, column, edit: !edit })}>
              {edit ? 'Stop editing' : 'Edit or delete'}
            </a>
          </span>
        )}
      </h1>
      {detail.pieces === null ? <code>{detail.row.printed}</code> : <Pieces pieces={detail.pieces} />}
      {detail.row.problem !== undefined && (
        <p class="problem">
          <strong>Not decoded</strong> {detail.row.problem}
        </p>
      )}
      {entity !== undefined && <Relations entity={entity} detail={detail} />}
      {edit && entity !== undefined && catalog.writable && (
        <RowWrites entity={entity} row={row} values={detail.row.values} />
      )}
      <h2>Values</h2>
      <Values detail={detail} entity={entity} table={table} />
      <h2>
        Cells
        <small>every version and tombstone, decoded and as HBase has them; a click shows one column</small>
      </h2>
      <Cells
        cells={detail.cells}
        families={families}
        chosen={column}
        choose={(next) => go({ kind: 'row', table, row, column: next === column ? '' : next, edit })}
      />
      {column !== '' && (
        <Versions cells={detail.cells.filter((cell) => columnOf(cell) === column)} table={table} row={row} />
      )}
      {detail.code !== '' && <Code label="TypeScript" text={detail.code} />}
    </article>
  );
}

/** Entities that the row leads to: what it refers to, and those whose keys begin alike. */
function Relations({ entity, detail }: { readonly entity: EntityInfo; readonly detail: RowDetail }) {
  const links = entity.relations.flatMap(({ property, kind, entity: other, via }) => {
    const key = Object.fromEntries(
      via.map(([part, from]) => [part, textOf(detail.row.values[from])] as const),
    );
    return Object.values(key).includes('') ? [] : [{ property, kind, other, key }];
  });
  if (links.length === 0) return null;
  return (
    <nav class="relations" aria-label="Leads to">
      {links.map(({ property, kind, other, key }) => (
        <a key={`${property} ${other}`} href={entityHash(other, { key })}>
          {property} → {kind === 'one' ? other : `${other}, many`}
        </a>
      ))}
    </nav>
  );
}

interface ValuesProps {
  readonly detail: RowDetail;
  readonly entity: EntityInfo | undefined;
  readonly table: string;
}

function Values({ detail, entity, table }: ValuesProps) {
  return (
    <dl class="values">
      {Object.entries(detail.row.values).map(([name, value]) => {
        const column = entity?.columns.find(({ property }) => property === name);
        const picture = detail.cells.find(
          (cell) => cell.property === name && cell.picture === true && cell.time === value.time,
        );
        const codec = column?.codec ?? entity?.parts.find((part) => part.name === name)?.codec ?? value.type;
        return (
          <div key={name}>
            <dt>
              {name}
              <small>
                {codec}
                {value.time === 0
                  ? column === undefined
                    ? ', in the key'
                    : ''
                  : `, ${value.bytes} bytes, ${timeText(value.time)}`}
              </small>
            </dt>
            <dd>
              {picture !== undefined ? (
                <img
                  class="thumbnail"
                  src={valueAddress(table, detail.row.row, columnOf(picture), picture.time)}
                  alt={`What ${name} shows`}
                />
              ) : value.type === 'json' ? (
                <Tree value={value.value} schema={column?.avro} />
              ) : (
                <span class={value.type}>{textOf(value)}</span>
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

const columnOf = ({ family, qualifier }: CellShown): string => `${family}:${qualifier}`;

interface CellsProps {
  readonly cells: readonly CellShown[];
  readonly families: readonly FamilyInfo[];
  readonly chosen: string;
  readonly choose: (column: string) => void;
}

function Cells({ cells, families, chosen, choose }: CellsProps) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Cells">
      <table class="cells">
        <thead>
          <tr>
            <th scope="col">column</th>
            <th scope="col">property</th>
            <th scope="col">written</th>
            <th scope="col">lives</th>
            <th scope="col" class="number">
              bytes
            </th>
            <th scope="col">decoded</th>
            <th scope="col">as HBase has it</th>
          </tr>
        </thead>
        <tbody>
          {cells.map((cell, at) => {
            const column = columnOf(cell);
            const isOlder = at > 0 && column === columnOf(cells[at - 1]!);
            const classes = [
              isOlder ? 'older' : '',
              cell.type === 'Put' ? '' : 'tombstone',
              column === chosen ? 'chosen' : '',
            ];
            return (
              <tr key={at} class={classes.join(' ')}>
                <th scope="row">
                  <button
                    type="button"
                    class="plain"
                    aria-expanded={column === chosen}
                    onClick={() => choose(column)}
                  >
                    {column}
                  </button>
                </th>
                <td>{cell.property ?? ''}</td>
                <td>{timeText(cell.time)}</td>
                <td>{lifeText(cell, families)}</td>
                <td class="number">{cell.bytes.toLocaleString('en')}</td>
                <td class={cell.problem === undefined ? 'short' : 'lost'}>
                  {cell.problem ?? (cell.type === 'Put' ? textOf(cell.decoded) : cell.type)}
                </td>
                <td class="short">
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

/** The rest of a cell's time to live: the shorter one of its own and its family's. */
function lifeText({ family, time, timeToLive, type }: CellShown, families: readonly FamilyInfo[]): string {
  const ofFamily = families.find(({ name }) => name === family)?.timeToLive ?? null;
  const lives = [timeToLive, ofFamily === null ? undefined : ofFamily * 1000].filter(
    (each) => each !== undefined,
  );
  if (lives.length === 0 || type !== 'Put') return '';
  const left = time + Math.min(...lives) - Date.now();
  return left <= 0 ? 'ended' : `${spanText(left)} more`;
}

interface VersionsProps {
  readonly cells: readonly CellShown[];
  readonly table: string;
  readonly row: string;
}

/** The versions of one column on a line of time, each with how it differs from the one before it. */
function Versions({ cells, table, row }: VersionsProps) {
  const [newest] = cells;
  if (newest === undefined) return null;
  const times = cells.map(({ time }) => time);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const place = (time: number): number => (to === from ? 50 : 4 + (92 * (time - from)) / (to - from));
  const column = columnOf(newest);
  return (
    <section class="card versions" aria-label={`Versions of ${column}`}>
      <h2>
        {column} {newest.property !== undefined && <small>{newest.property}</small>}
        <small>
          {cells.length} {cells.length === 1 ? 'version' : 'versions'}
          {to > from && ` over ${spanText(to - from)}`}
        </small>
      </h2>
      <div class="time-line" aria-hidden="true">
        {cells.map((cell, at) => (
          <span
            key={at}
            class={cell.type === 'Put' ? '' : 'tombstone'}
            style={{ left: `${place(cell.time)}%` }}
            title={`${timeText(cell.time)} ${cell.type}`}
          />
        ))}
      </div>
      <ol class="version-list">
        {cells.map((cell, at) => {
          const older = cells.slice(at + 1).find(({ type }) => type === 'Put');
          return (
            <li key={at} class={cell.type === 'Put' ? '' : 'tombstone'}>
              <div class="when">
                {timeText(cell.time)}
                <small>
                  {cell.type === 'Put' ? `${cell.bytes} bytes` : cell.type}
                  {cells[at + 1] !== undefined && `, ${spanText(cell.time - cells[at + 1]!.time)} later`}
                </small>
              </div>
              {cell.type === 'Put' && (
                <div class="what">
                  {cell.problem !== undefined && <p class="lost">{cell.problem}</p>}
                  {older === undefined ? (
                    <ValueOf cell={cell} />
                  ) : (
                    <Difference before={jsonOf(older)} after={jsonOf(cell)} />
                  )}
                  <details open={at === 0 && (cell.picture === true || cell.decoded === undefined)}>
                    <summary>bytes</summary>
                    <Bytes
                      printed={cell.value}
                      cut={cell.cut === true}
                      picture={cell.picture === true}
                      address={valueAddress(table, row, column, cell.time)}
                    />
                  </details>
                </div>
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function ValueOf({ cell }: { readonly cell: CellShown }) {
  if (cell.decoded === undefined) return null;
  return cell.decoded.type === 'json' ? (
    <Tree value={cell.decoded.value} />
  ) : (
    <span>{textOf(cell.decoded)}</span>
  );
}

const jsonOf = (cell: CellShown): Json => cell.decoded?.value ?? cell.value;
