/** The studio's page: tables and entities on the left, a view on the right, keys for all of it. */

import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Catalog, SavedQuery } from '../server/api.js';
import { DiagramView } from './diagram.js';
import { LiveView } from './live-view.js';
import { LoadView } from './load-view.js';
import { Overview } from './overview.js';
import { ProblemBox, useLoaded } from './parts.js';
import { requests } from './requests.js';
import { entityHash, go, hashOf, tableHash, type View, viewOf } from './routes.js';
import { RowView } from './row-view.js';
import { EntityView, TableView } from './rows-view.js';
import { SchemaView } from './schema-view.js';
import { LastWriteBar, useWrites } from './undo.js';
import { InsertView } from './write-form.js';

function useView(): View {
  const [view, setView] = useState(() => viewOf(location.hash));
  useEffect(() => {
    const changed = (): void => setView(viewOf(location.hash));
    addEventListener('hashchange', changed);
    // The address may have changed before this listens.
    changed();
    return () => removeEventListener('hashchange', changed);
  }, []);
  return view;
}

/** Views that two keys lead to. */
const JUMPS: Readonly<Record<string, View>> = {
  gt: { kind: 'overview' },
  gd: { kind: 'diagram' },
  gl: { kind: 'load', entity: '' },
  gs: { kind: 'schema' },
};

/** `/` to the first field, `f` to the search of tables, `g` and a letter to a view, `?` for the keys, Escape back. */
function useKeys(help: () => void): void {
  useEffect(() => {
    let before = '';
    const focus = (...selectors: readonly string[]): void => {
      const found = selectors.map((selector) => document.querySelector<HTMLElement>(selector));
      found.find((each) => each !== null)?.focus();
    };
    const pressed = (event: KeyboardEvent): void => {
      const { target, key } = event;
      const typing =
        target instanceof HTMLElement &&
        (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName));
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (key === 'Escape' && typing) (target as HTMLElement).blur();
      if (typing) return;
      const jump = JUMPS[before + key];
      before = key === 'g' ? 'g' : '';
      if (key === '/' || key === 'f') {
        event.preventDefault();
        if (key === 'f') focus('#filter');
        else focus('[data-first]', '#filter');
      } else if (key === '?') help();
      else if (key === 'Escape') history.back();
      else if (jump !== undefined) go(jump);
      else if (key === 'j') focus('.grid');
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [help]);
}

function Studio() {
  const view = useView();
  const catalog = useLoaded(requests.catalog, 'catalog');
  const [helped, setHelped] = useState(false);
  const [queries, setQueries] = useState<readonly SavedQuery[]>([]);
  const [failure, setFailure] = useState<Error>();
  const writes = useWrites();
  useKeys(() => setHelped((shown) => !shown));
  const hasQueries = catalog !== undefined && !(catalog instanceof Error) && catalog.queriesFile !== null;
  useEffect(() => {
    if (hasQueries) requests.queries().then(setQueries, setFailure);
  }, [hasQueries]);
  useEffect(() => {
    document.title = `${titleOf(view)} · Rowan Studio`;
  }, [view]);
  if (catalog === undefined) return <p role="status">Reading…</p>;
  if (catalog instanceof Error) return <ProblemBox error={catalog} />;
  const kept = (change: Promise<SavedQuery[]>): void => {
    setFailure(undefined);
    change.then(setQueries, setFailure);
  };
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        To the content
      </a>
      <Side
        catalog={catalog}
        view={view}
        queries={queries}
        remove={(name) => kept(requests.removeQuery(name))}
      />
      <main id="main" tabIndex={-1}>
        {helped && <Help close={() => setHelped(false)} />}
        {failure !== undefined && <ProblemBox error={failure} />}
        <Shown
          view={view}
          catalog={catalog}
          writes={writes}
          save={hasQueries ? (query) => kept(requests.saveQuery(query)) : undefined}
        />
      </main>
      <LastWriteBar />
    </>
  );
}

function titleOf(view: View): string {
  if ('table' in view) return view.table;
  if ('entity' in view && view.entity !== '') return view.entity;
  return { overview: 'Tables', diagram: 'Diagram', load: 'Load', schema: 'Schema' }[view.kind as 'overview'];
}

interface ShownProps {
  readonly view: View;
  readonly catalog: Catalog;
  readonly writes: number;
  readonly save: ((query: SavedQuery) => void) | undefined;
}

function Shown({ view, catalog, writes, save }: ShownProps) {
  switch (view.kind) {
    case 'overview':
      return <Overview catalog={catalog} />;
    case 'diagram':
      return <DiagramView catalog={catalog} />;
    case 'load':
      return <LoadView catalog={catalog} entity={view.entity} />;
    case 'schema':
      return <SchemaView />;
    case 'row':
      return <RowView {...view} catalog={catalog} changes={writes} />;
    case 'table': {
      const table = catalog.tables.find(({ name }) => name === view.table);
      if (table === undefined) return <Missing what={`table "${view.table}"`} />;
      return <TableView table={table} from={view.from} raw={view.raw} />;
    }
    default: {
      const entity = catalog.entities.find(({ name }) => name === view.entity);
      if (entity === undefined) return <Missing what={`entity "${view.entity}"`} />;
      if (view.kind === 'live') return <LiveView entity={entity} question={view.question} />;
      if (view.kind === 'insert')
        return catalog.writable ? (
          <InsertView entity={entity} />
        ) : (
          <p class="problem">The studio only reads. Start it with --write to insert rows.</p>
        );
      const { question, raw } = view;
      return (
        <EntityView entity={entity} question={question} raw={raw} writable={catalog.writable} save={save} />
      );
    }
  }
}

function Missing({ what }: { readonly what: string }) {
  return (
    <p class="problem">
      There is no {what}. <a href={hashOf({ kind: 'overview' })}>Tables</a>
    </p>
  );
}

interface SideProps {
  readonly catalog: Catalog;
  readonly view: View;
  readonly queries: readonly SavedQuery[];
  readonly remove: (name: string) => void;
}

function Side({ catalog, view, queries, remove }: SideProps) {
  const [filter, setFilter] = useState('');
  const [open, setOpen] = useState(false);
  const nav = useRef<HTMLElement>(null);
  const fits = (name: string): boolean => name.toLowerCase().includes(filter.toLowerCase());
  const link = (href: string, text: string, className: string, isCurrent: boolean) => (
    <a
      class={className}
      href={href}
      aria-current={isCurrent ? 'page' : undefined}
      onClick={() => setOpen(false)}
    >
      {text}
    </a>
  );
  const onArrow = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const stops = [...(nav.current?.querySelectorAll<HTMLElement>('a, input') ?? [])];
    event.preventDefault();
    stops[stops.indexOf(document.activeElement as HTMLElement) + step]?.focus();
  };
  return (
    <header class={`side ${open ? 'open' : ''}`}>
      <div class="brand">
        <strong>Rowan Studio</strong>
        <small title={catalog.place}>{catalog.place}</small>
        <button type="button" class="menu" aria-expanded={open} onClick={() => setOpen(!open)}>
          Menu
        </button>
      </div>
      <nav aria-label="Tables and entities" ref={nav} onKeyDown={onArrow}>
        <div class="tops">
          {link(hashOf({ kind: 'overview' }), 'Tables', 'top', view.kind === 'overview')}
          {link(hashOf({ kind: 'diagram' }), 'Diagram', 'top', view.kind === 'diagram')}
          {link(hashOf({ kind: 'load', entity: '' }), 'Load', 'top', view.kind === 'load')}
          {link(hashOf({ kind: 'schema' }), 'Schema', 'top', view.kind === 'schema')}
        </div>
        <input
          id="filter"
          type="search"
          aria-label="Find a table or entity"
          placeholder="Find a table or entity (f)"
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
        {catalog.tables
          .filter(({ kind }) => kind !== 'system')
          .filter(({ name, entities }) => fits(name) || entities.some(fits))
          .map((table) => (
            <div key={table.name}>
              {link(
                tableHash(table.name),
                table.name,
                'table',
                view.kind === 'table' && view.table === table.name,
              )}
              {table.entities.map((name) => (
                <div key={name}>
                  {link(entityHash(name), name, 'entity-link', 'entity' in view && view.entity === name)}
                </div>
              ))}
            </div>
          ))}
        {queries.length > 0 && <p class="side-title">Saved queries</p>}
        {queries
          .filter(({ name }) => fits(name))
          .map(({ name, entity, question }) => (
            <div key={name} class="saved">
              {link(entityHash(entity, question), name, 'entity-link', false)}
              <button type="button" aria-label={`Remove the query ${name}`} onClick={() => remove(name)}>
                ×
              </button>
            </div>
          ))}
      </nav>
      <p class="hint">
        <span class={catalog.writable ? 'state disabled' : ''}>
          {catalog.writable ? 'writes are on' : 'read only'}
        </span>{' '}
        · <kbd>?</kbd> keys
      </p>
    </header>
  );
}

const KEYS = [
  ['/', 'to the first field of the view'],
  ['f', 'find a table or entity; arrows move in the list'],
  ['g t, g d, g l, g s', 'tables, diagram, load, schema'],
  ['j', 'to the rows'],
  ['arrows, Page Up, Page Down, Home, End', 'move in the rows'],
  ['Enter', 'opens the row, or shows what is asked'],
  ['Esc', 'out of a field, else back'],
  ['?', 'these keys'],
] as const;

function Help({ close }: { readonly close: () => void }) {
  return (
    <section class="card" aria-label="Keys">
      <h2>
        Keys
        <button type="button" class="aside" onClick={close}>
          Close
        </button>
      </h2>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

render(<Studio />, document.getElementById('studio')!);
