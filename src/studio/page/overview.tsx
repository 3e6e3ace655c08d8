/** Tables, families and entities, with the state of what is derived from rows. */

import { useState } from 'preact/hooks';
import type {
  Catalog,
  EntityInfo,
  FamilyInfo,
  HealthInfo,
  IndexProgress,
  Json,
  TableInfo,
  TableSize,
} from '../server/api.js';
import { ProblemBox, sizeText, useLoaded } from './parts.js';
import { checkIndex, requests } from './requests.js';
import { entityHash, hashOf, tableHash } from './routes.js';

export function Overview({ catalog }: { readonly catalog: Catalog }) {
  const health = useLoaded(requests.health, 'health');
  const sizes = useLoaded(requests.sizes, 'sizes');
  const shown = catalog.tables.filter(({ kind }) => kind !== 'system');
  const system = catalog.tables.filter(({ kind }) => kind === 'system');
  const sizeOf = (name: string): TableSize | undefined =>
    Array.isArray(sizes) ? sizes.find(({ table }) => table === name) : undefined;
  const bytes = Array.isArray(sizes) ? sizes.reduce((sum, { fileBytes }) => sum + fileBytes, 0) : undefined;
  return (
    <>
      <h1>
        Tables
        <small>
          {catalog.engine}, {shown.length} {shown.length === 1 ? 'table' : 'tables'},{' '}
          {catalog.entities.length} {catalog.entities.length === 1 ? 'entity' : 'entities'}
          {bytes !== undefined && `, ${sizeText(bytes)} on disk`}
        </small>
        <a class="aside" href={hashOf({ kind: 'diagram' })}>
          Diagram
        </a>
      </h1>
      {health instanceof Error && <ProblemBox error={health} />}
      {sizes instanceof Error && <ProblemBox error={sizes} />}
      {shown.map((table) => (
        <TableCard
          key={table.name}
          table={table}
          catalog={catalog}
          size={sizeOf(table.name)}
          health={Array.isArray(health) ? health : []}
        />
      ))}
      {system.length > 0 && (
        <details>
          <summary>
            {system.length} {system.length === 1 ? 'table' : 'tables'} that Rowan keeps itself
          </summary>
          <ul class="columns">
            {system.map(({ name }) => (
              <li key={name}>
                <a href={tableHash(name)}>{name}</a> <SizeText size={sizeOf(name)} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function SizeText({ size }: { readonly size: TableSize | undefined }) {
  if (size === undefined) return null;
  const { regions, fileBytes, memstoreBytes } = size;
  return (
    <small class="sizes">
      {regions} {regions === 1 ? 'region' : 'regions'}, {sizeText(fileBytes)} on disk,{' '}
      {sizeText(memstoreBytes)} in memory
    </small>
  );
}

interface TableCardProps {
  readonly table: TableInfo;
  readonly catalog: Catalog;
  /** Undefined until it is counted. */
  readonly size: TableSize | undefined;
  readonly health: readonly HealthInfo[];
}

function TableCard({ table, catalog, size, health }: TableCardProps) {
  const entities = catalog.entities.filter((entity) => entity.table === table.name);
  return (
    <section class="card" aria-label={table.name}>
      <h2>
        <a href={tableHash(table.name)}>{table.name}</a>
        {table.kind === 'other' && <small>no entity is declared in it</small>}
        <SizeText size={size} />
      </h2>
      <Families families={table.families} />
      {entities.map((entity) => (
        <EntityLine
          key={entity.name}
          entity={entity}
          health={health.filter((each) => each.entity === entity.name)}
          writable={catalog.writable}
        />
      ))}
    </section>
  );
}

interface EntityLineProps {
  readonly entity: EntityInfo;
  readonly health: readonly HealthInfo[];
  readonly writable: boolean;
}

function EntityLine({ entity, health, writable }: EntityLineProps) {
  return (
    <div class="entity-line">
      <a href={entityHash(entity.name)}>{entity.name}</a>
      {entity.recordType !== null && <small>record type {entity.recordType}</small>}
      <code class="layout">{entity.layout}</code>
      {health.length > 0 && (
        <ul class="health">
          {health.map((each) => (
            <HealthLine key={`${each.kind} ${each.name}`} health={each} writable={writable} />
          ))}
        </ul>
      )}
    </div>
  );
}

function HealthLine({ health, writable }: { readonly health: HealthInfo; readonly writable: boolean }) {
  const { entity, kind, name, state, note } = health;
  return (
    <li>
      <span class={`state ${state}`}>{state}</span> {kind} <b>{name}</b>{' '}
      {note !== '' && <small>{note}</small>}
      {kind === 'index' && writable && <IndexCheck entity={entity} index={name} />}
    </li>
  );
}

/** Holds an index against its rows, and repairs it, with what it found. */
function IndexCheck({ entity, index }: { readonly entity: string; readonly index: string }) {
  const [progress, setProgress] = useState<IndexProgress>();
  const [failure, setFailure] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const start = (repair: boolean): void => {
    setBusy(true);
    setFailure(undefined);
    setProgress(undefined);
    checkIndex(entity, index, repair, setProgress)
      .catch(setFailure)
      .finally(() => setBusy(false));
  };
  const report = progress?.report as Readonly<Record<string, Json>> | undefined;
  return (
    <span class="check">
      <button type="button" disabled={busy} onClick={() => start(false)}>
        Verify
      </button>
      <button type="button" disabled={busy} onClick={() => start(true)}>
        Repair
      </button>
      {busy && (
        <progress max={1} value={progress?.fraction ?? 0} aria-label={`Progress of ${index}`}>
          {Math.round((progress?.fraction ?? 0) * 100)} %
        </progress>
      )}
      <span role="status">
        {report !== undefined &&
          Object.entries(report)
            .filter(([, count]) => typeof count === 'number')
            .map(([name, count]) => `${name} ${count}`)
            .join(', ')}
        {progress?.problem?.message}
      </span>
      {failure !== undefined && <ProblemBox error={failure} />}
    </span>
  );
}

/** The families of a table, with what is on the disk where the engine counts it. */
export function Families({ families }: { readonly families: readonly FamilyInfo[] }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Families">
      <table>
        <thead>
          <tr>
            <th scope="col">family</th>
            <th scope="col">compression</th>
            <th scope="col">encoding</th>
            <th scope="col">bloom filter</th>
            <th scope="col">versions</th>
            <th scope="col">time to live</th>
            <th scope="col" class="number">
              on disk
            </th>
            <th scope="col" class="number">
              before packing
            </th>
            <th scope="col" class="number">
              in memory
            </th>
            <th scope="col" class="number">
              files
            </th>
            <th scope="col" class="number">
              cells
            </th>
          </tr>
        </thead>
        <tbody>
          {families.map((family) => (
            <FamilyRow key={family.name} family={family} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function FamilyRow({ family }: { readonly family: FamilyInfo }) {
  const { name, compression, encoding, bloomFilter, maxVersions, timeToLive, counted } = family;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{compression}</td>
      <td>{encoding}</td>
      <td>{bloomFilter}</td>
      <td>{maxVersions >= 2 ** 31 - 1 ? 'all' : maxVersions}</td>
      <td>{timeToLive === null ? 'for ever' : `${timeToLive} s`}</td>
      {counted === null ? (
        <td colSpan={5} class="number">
          <small>not counted by this engine</small>
        </td>
      ) : (
        <>
          <td class="number">{sizeText(counted.fileBytes)}</td>
          <td class="number">{sizeText(counted.rawBytes)}</td>
          <td class="number">{sizeText(counted.memstoreBytes)}</td>
          <td class="number">{counted.files}</td>
          <td class="number">{counted.cells.toLocaleString('en')}</td>
        </>
      )}
    </tr>
  );
}
