/** The views and their addresses: each has one, so that back, forward and a copied address work. */

import type { Question } from '../server/api.js';

export type View =
  | { readonly kind: 'overview' }
  | { readonly kind: 'diagram' }
  | { readonly kind: 'load'; readonly entity: string }
  | { readonly kind: 'schema' }
  | { readonly kind: 'entity'; readonly entity: string; readonly question: Question; readonly raw: boolean }
  | { readonly kind: 'live'; readonly entity: string; readonly question: Question }
  | { readonly kind: 'insert'; readonly entity: string }
  | { readonly kind: 'table'; readonly table: string; readonly from: string; readonly raw: boolean }
  | {
      readonly kind: 'row';
      readonly table: string;
      readonly row: string;
      /** The column whose versions are shown, as family:qualifier; empty: none. */
      readonly column: string;
      readonly edit: boolean;
    };

export function viewOf(hash: string): View {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [kind, name = '', row = ''] = path.split('/').map(decoded);
  const given = new URLSearchParams(search);
  const raw = given.get('raw') === '1';
  switch (kind) {
    case 'diagram':
    case 'schema':
      return { kind };
    case 'load':
      return { kind, entity: name };
    case 'entity':
      return { kind, entity: name, question: questionOf(given.get('q')), raw };
    case 'live':
      return { kind, entity: name, question: questionOf(given.get('q')) };
    case 'insert':
      return { kind, entity: name };
    case 'table':
      return { kind, table: name, from: given.get('from') ?? '', raw };
    case 'row':
      return { kind, table: name, row, column: given.get('column') ?? '', edit: given.get('edit') === '1' };
    default:
      return { kind: 'overview' };
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The server looks at it again: here only what is no JSON is left out. */
function questionOf(text: string | null): Question {
  try {
    return text === null ? {} : (JSON.parse(text) as Question);
  } catch {
    return {};
  }
}

export function hashOf(view: View): string {
  const given = new URLSearchParams();
  if ('question' in view && JSON.stringify(view.question) !== '{}')
    given.set('q', JSON.stringify(view.question));
  if (view.kind === 'table' && view.from !== '') given.set('from', view.from);
  if ('raw' in view && view.raw) given.set('raw', '1');
  if (view.kind === 'row' && view.column !== '') given.set('column', view.column);
  if (view.kind === 'row' && view.edit) given.set('edit', '1');
  const search = given.size === 0 ? '' : `?${given}`;
  return `#/${pathOf(view)}${search}`;
}

function pathOf(view: View): string {
  switch (view.kind) {
    case 'overview':
      return '';
    case 'diagram':
    case 'schema':
      return view.kind;
    case 'load':
      return view.entity === '' ? 'load' : `load/${encodeURIComponent(view.entity)}`;
    case 'entity':
    case 'live':
    case 'insert':
      return `${view.kind}/${encodeURIComponent(view.entity)}`;
    case 'table':
      return `table/${encodeURIComponent(view.table)}`;
    case 'row':
      return `row/${encodeURIComponent(view.table)}/${view.row}`;
  }
}

/** The address of a whole row. */
export const rowHash = (table: string, row: string): string =>
  hashOf({ kind: 'row', table, row, column: '', edit: false });

/** The address of the rows of an entity. */
export const entityHash = (entity: string, question: Question = {}): string =>
  hashOf({ kind: 'entity', entity, question, raw: false });

export const tableHash = (table: string): string => hashOf({ kind: 'table', table, from: '', raw: false });

export function go(view: View): void {
  location.hash = hashOf(view);
}
