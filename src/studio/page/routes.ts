/** The views and their addresses: each has one, so that back, forward and a copied address work. */

import type { Question } from '../server/api.js';

export type View =
  | { readonly kind: 'overview' }
  | { readonly kind: 'schema' }
  | { readonly kind: 'entity'; readonly entity: string; readonly question: Question; readonly raw: boolean }
  | { readonly kind: 'table'; readonly table: string; readonly from: string; readonly raw: boolean }
  | { readonly kind: 'row'; readonly table: string; readonly row: string };

export function viewOf(hash: string): View {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [kind, name = '', row = ''] = path.split('/').map(decoded);
  const given = new URLSearchParams(search);
  const raw = given.get('raw') === '1';
  switch (kind) {
    case 'schema':
      return { kind: 'schema' };
    case 'entity':
      return { kind: 'entity', entity: name, question: questionOf(given.get('q')), raw };
    case 'table':
      return { kind: 'table', table: name, from: given.get('from') ?? '', raw };
    case 'row':
      return { kind: 'row', table: name, row };
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
  if (view.kind === 'entity' && JSON.stringify(view.question) !== '{}')
    given.set('q', JSON.stringify(view.question));
  if (view.kind === 'table' && view.from !== '') given.set('from', view.from);
  if ((view.kind === 'entity' || view.kind === 'table') && view.raw) given.set('raw', '1');
  const search = given.size === 0 ? '' : `?${given}`;
  switch (view.kind) {
    case 'overview':
      return '#/';
    case 'schema':
      return '#/schema';
    case 'entity':
      return `#/entity/${encodeURIComponent(view.entity)}${search}`;
    case 'table':
      return `#/table/${encodeURIComponent(view.table)}${search}`;
    case 'row':
      return `#/row/${encodeURIComponent(view.table)}/${view.row}`;
  }
}

export function go(view: View): void {
  location.hash = hashOf(view);
}
