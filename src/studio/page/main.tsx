/** The studio's page: what there is on the left, a view on the right, keys for all of it. */

import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Catalog } from '../server/api.js';
import { ProblemBox, useLoaded } from './parts.js';
import { requests } from './requests.js';
import { go, hashOf, type View, viewOf } from './routes.js';
import { EntityView, Overview, RowView, SchemaView, TableView } from './views.js';

function useView(): View {
  const [view, setView] = useState(() => viewOf(location.hash));
  useEffect(() => {
    const changed = (): void => setView(viewOf(location.hash));
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return view;
}

/** `/` to the first field, `g t` to the tables, `g s` to the schema, `?` for the keys, Escape back. */
function useKeys(help: () => void): void {
  useEffect(() => {
    let before = '';
    const pressed = (event: KeyboardEvent): void => {
      const { target, key } = event;
      const typing =
        target instanceof HTMLElement &&
        (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName));
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (key === 'Escape' && typing) (target as HTMLElement).blur();
      if (typing) return;
      const two = before + key;
      before = key === 'g' ? 'g' : '';
      if (key === '/') {
        event.preventDefault();
        (
          document.querySelector<HTMLElement>('[data-first]') ??
          document.querySelector<HTMLElement>('#filter')
        )?.focus();
      } else if (key === '?') help();
      else if (key === 'Escape') history.back();
      else if (two === 'gt') go({ kind: 'overview' });
      else if (two === 'gs') go({ kind: 'schema' });
      else if (key === 'j' || key === 'k') document.querySelector<HTMLElement>('.grid')?.focus();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [help]);
}

function Studio() {
  const view = useView();
  const catalog = useLoaded(requests.catalog, 'catalog');
  const [helped, setHelped] = useState(false);
  useKeys(() => setHelped((shown) => !shown));
  if (catalog === undefined) return <p role="status">Reading…</p>;
  if (catalog instanceof Error) return <ProblemBox error={catalog} />;
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
      <Side catalog={catalog} view={view} />
      <main id="main" tabIndex={-1}>
        {helped && <Help />}
        <Shown view={view} catalog={catalog} />
      </main>
    </>
  );
}

function Shown({ view, catalog }: { readonly view: View; readonly catalog: Catalog }) {
  switch (view.kind) {
    case 'overview':
      return <Overview catalog={catalog} />;
    case 'schema':
      return <SchemaView />;
    case 'row':
      return <RowView table={view.table} row={view.row} catalog={catalog} />;
    case 'table': {
      const table = catalog.tables.find(({ name }) => name === view.table);
      return table === undefined ? (
        <Missing what={view.table} />
      ) : (
        <TableView table={table} from={view.from} raw={view.raw} />
      );
    }
    case 'entity': {
      const entity = catalog.entities.find(({ name }) => name === view.entity);
      if (entity === undefined) return <Missing what={view.entity} />;
      return <EntityView entity={entity} question={view.question} raw={view.raw} />;
    }
  }
}

function Missing({ what }: { readonly what: string }) {
  return <p class="problem">There is no {what}.</p>;
}

function Side({ catalog, view }: { readonly catalog: Catalog; readonly view: View }) {
  const [filter, setFilter] = useState('');
  const [open, setOpen] = useState(false);
  const current = hashOf({
    ...view,
    ...('question' in view && { question: {} }),
    ...('from' in view && { from: '' }),
    ...('raw' in view && { raw: false }),
  } as View);
  const fits = (name: string): boolean => name.toLowerCase().includes(filter.toLowerCase());
  const link = (to: View, text: string, className: string) => (
    <a
      class={className}
      href={hashOf(to)}
      aria-current={hashOf(to) === current ? 'page' : undefined}
      onClick={() => setOpen(false)}
    >
      {text}
    </a>
  );
  return (
    <header class={`side ${open ? 'open' : ''}`}>
      <div class="brand">
        <strong>Rowan Studio</strong>
        <small title={catalog.place}>{catalog.place}</small>
        <button type="button" class="menu" aria-expanded={open} onClick={() => setOpen(!open)}>
          Menu
        </button>
      </div>
      <nav aria-label="Tables and entities">
        {link({ kind: 'overview' }, 'Tables', 'top')}
        {link({ kind: 'schema' }, 'Schema', 'top')}
        <input
          id="filter"
          type="search"
          aria-label="Find a table or entity"
          placeholder="Find a table or entity"
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
        {catalog.tables
          .filter(({ kind }) => kind !== 'system')
          .filter(({ name, entities }) => fits(name) || entities.some(fits))
          .map((table) => (
            <div key={table.name}>
              {link({ kind: 'table', table: table.name, from: '', raw: false }, table.name, 'table')}
              {table.entities.map((name) => (
                <div key={name}>
                  {link({ kind: 'entity', entity: name, question: {}, raw: false }, name, 'entity-link')}
                </div>
              ))}
            </div>
          ))}
      </nav>
      <p class="hint">read only · ? for keys</p>
    </header>
  );
}

function Help() {
  return (
    <section class="card" aria-label="Keys">
      <h2>Keys</h2>
      <p>
        <kbd>/</kbd> first field · <kbd>g</kbd> <kbd>t</kbd> tables · <kbd>g</kbd> <kbd>s</kbd> schema ·{' '}
        <kbd>j</kbd> to the rows · arrows, <kbd>Page Up</kbd>, <kbd>Page Down</kbd>, <kbd>Home</kbd>,{' '}
        <kbd>End</kbd> in them · <kbd>Enter</kbd> opens a row · <kbd>Esc</kbd> back · <kbd>?</kbd> this
      </p>
    </section>
  );
}

render(<Studio />, document.getElementById('studio')!);
