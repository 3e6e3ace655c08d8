/** Asks the studio's server. */

import type {
  Catalog,
  Planned,
  Problem,
  Question,
  RegionShown,
  RowDetail,
  RowPage,
  SchemaReport,
} from '../server/api.js';

/** What the server says is wrong. */
export class StudioError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

type Given = Readonly<Record<string, string | number | null | undefined>>;

async function ask<T>(path: string, given: Given, signal?: AbortSignal): Promise<T> {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    if (value !== null && value !== undefined && value !== '') parameters.set(name, String(value));
  }
  const response = await fetch(`/api/${path}?${parameters}`, signal === undefined ? {} : { signal });
  if (response.ok) return (await response.json()) as T;
  const text = await response.text();
  if (response.headers.get('content-type')?.startsWith('application/json') !== true) {
    throw new StudioError({ code: `HTTP ${response.status}`, message: text });
  }
  throw new StudioError((JSON.parse(text) as { problem: Problem }).problem);
}

const q = (question: Question): string => JSON.stringify(question);

export const requests = {
  catalog: (): Promise<Catalog> => ask('catalog', {}),
  regions: (table: string): Promise<RegionShown[]> => ask('regions', { table }),
  schema: (): Promise<SchemaReport> => ask('schema', {}),
  plan: (entity: string, question: Question, signal: AbortSignal): Promise<Planned> =>
    ask('plan', { entity, q: q(question) }, signal),
  rows: (entity: string, question: Question, raw: boolean, at: PageAt): Promise<RowPage> =>
    ask('rows', { entity, q: q(question), raw: raw ? 1 : '', size: at.size, cursor: at.cursor }, at.signal),
  table: (table: string, from: string, raw: boolean, at: PageAt): Promise<RowPage> =>
    ask('table', { table, from, raw: raw ? 1 : '', size: at.size, cursor: at.cursor }, at.signal),
  row: (table: string, row: string): Promise<RowDetail> => ask('row', { table, row }),
};

/** Where the rows of a question are as a file. */
export const exportAddress = (entity: string, question: Question, format: string): string =>
  `/api/export?${new URLSearchParams({ entity, q: q(question), format })}`;

export interface PageAt {
  readonly size: number;
  readonly cursor: string | null;
  readonly signal: AbortSignal;
}
