/** Asks the studio's server. */

import type {
  Catalog,
  Counters,
  HealthInfo,
  HeatMap,
  IndexProgress,
  Planned,
  Problem,
  Question,
  RegionShown,
  RowDetail,
  RowPage,
  SavedQuery,
  SchemaReport,
  TableSize,
  WriteAsked,
  WriteDone,
  WritePlanned,
} from '../server/api.js';

/** An error that the server has answered. */
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
  return answered(await fetch(`/api/${path}?${parameters}`, signal === undefined ? {} : { signal }));
}

function post(path: string, body: unknown): Promise<Response> {
  return fetch(`/api/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function answered<T>(response: Response): Promise<T> {
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
  health: (): Promise<HealthInfo[]> => ask('health', {}),
  sizes: (): Promise<TableSize[]> => ask('sizes', {}),
  counters: (signal: AbortSignal): Promise<Counters> => ask('counters', {}, signal),
  regions: (table: string): Promise<RegionShown[]> => ask('regions', { table }),
  heat: (entity: string): Promise<HeatMap> => ask('heat', { entity }),
  schema: (): Promise<SchemaReport> => ask('schema', {}),
  queries: (): Promise<SavedQuery[]> => ask('queries', {}),
  plan: (entity: string, question: Question, signal: AbortSignal): Promise<Planned> =>
    ask('plan', { entity, q: q(question) }, signal),
  rows: (entity: string, question: Question, raw: boolean, at: PageAt): Promise<RowPage> =>
    ask('rows', { entity, q: q(question), raw: raw ? 1 : '', size: at.size, cursor: at.cursor }, at.signal),
  table: (table: string, from: string, raw: boolean, at: PageAt): Promise<RowPage> =>
    ask('table', { table, from, raw: raw ? 1 : '', size: at.size, cursor: at.cursor }, at.signal),
  row: (table: string, row: string): Promise<RowDetail> => ask('row', { table, row }),
  saveQuery: async (query: SavedQuery): Promise<SavedQuery[]> => answered(await post('queries/save', query)),
  removeQuery: async (name: string): Promise<SavedQuery[]> =>
    answered(await post('queries/remove', { name })),
  planWrite: async (write: WriteAsked): Promise<WritePlanned> =>
    answered(await post('write/plan', { write })),
  makeWrite: async (write: WriteAsked, confirm: string, seen: string): Promise<WriteDone> =>
    answered(await post('write/make', { write, confirm, seen })),
  undoWrite: async (undo: string): Promise<WriteDone> => answered(await post('write/undo', { undo })),
};

/** Checks or repairs an index; `told` is called as it goes on, at last with the report. */
export async function checkIndex(
  entity: string,
  index: string,
  repair: boolean,
  told: (progress: IndexProgress) => void,
): Promise<void> {
  const response = await post('index', { entity, index, repair });
  if (!response.ok || response.body === null) return answered(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data === undefined) continue;
      if (event.startsWith('event: problem')) throw new StudioError(JSON.parse(data) as Problem);
      if (!event.startsWith('event:')) told(JSON.parse(data) as IndexProgress);
    }
  }
}

/** Where the rows of a question are as a file. */
export const exportAddress = (entity: string, question: Question, format: string): string =>
  `/api/export?${new URLSearchParams({ entity, q: q(question), format })}`;

/** Where the changes of an entity come from. */
export const watchAddress = (entity: string, question: Question): string =>
  `/api/watch?${new URLSearchParams({ entity, q: q(question) })}`;

/** Where the bytes of a cell are. */
export const valueAddress = (table: string, row: string, column: string, time: number): string =>
  `/api/value?${new URLSearchParams({ table, row, column, time: String(time) })}`;

export interface PageAt {
  readonly size: number;
  readonly cursor: string | null;
  readonly signal: AbortSignal;
}
