import { readFile, rename, writeFile } from 'node:fs/promises';
import { fromStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { OUTBOX_TABLE } from '../../repository/index.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { EntitySchema } from '../../schema/types.js';
import { Scan } from '../../table/index.js';
import type { HealthInfo, SavedQuery, WriteAsked } from './api.js';
import { catalogOf, regionsOf, schemaReport } from './catalog.js';
import { type CellValue, cellValue } from './cell-value.js';
import { type ExportedFile, exportedFile } from './export.js';
import { indexCheck, liveChanges } from './live.js';
import { countersOf, heatOf, sizesOf } from './load.js';
import { parseQuestion, plan } from './questions.js';
import { type Limits, type PageRequest, RowReader } from './rows.js';
import type { StudioDatabase } from './studio-database.js';
import { reason } from './values.js';
import { Writes } from './writes.js';

type Body = Readonly<Record<string, unknown>>;
type Read = (given: URLSearchParams, signal: AbortSignal) => Promise<unknown>;
export type Stream = (given: URLSearchParams, signal: AbortSignal) => AsyncGenerator<unknown, void>;
export type Job = (body: Body, signal: AbortSignal) => AsyncGenerator<unknown, void>;
type Write = (body: Body, signal: AbortSignal) => Promise<unknown>;

interface RouteOptions {
  readonly place?: string;
  readonly write?: boolean;
  readonly queries?: string;
}

/** The routes of the studio: reads, streams, and the changes that it was started to make. */
export class Routes {
  readonly reads: ReadonlyMap<string, Read>;
  readonly streams: ReadonlyMap<string, Stream>;
  /** Work that changes something and tells how far it has come. Empty unless writes were asked for. */
  readonly jobs: ReadonlyMap<string, Job>;
  /** Empty but for what was asked for. */
  readonly writes: ReadonlyMap<string, Write>;

  constructor(
    private readonly db: StudioDatabase,
    { place = '', write = false, queries }: RouteOptions,
    readonly limits: Limits,
  ) {
    const reader = new RowReader(db, limits);
    const saved = new SavedQueries(queries);
    this.reads = new Map<string, Read>([
      ['/api/catalog', () => catalogOf(db, { place, writable: write, queriesFile: queries ?? null })],
      ['/api/health', () => healthOf(db)],
      ['/api/sizes', (_, signal) => sizesOf(db, signal)],
      ['/api/counters', () => countersOf(db)],
      ['/api/regions', (given) => regionsOf(db, textOf(given, 'table'))],
      ['/api/heat', (given, signal) => heatOf(db, textOf(given, 'entity'), signal)],
      ['/api/schema', () => schemaReport(db)],
      ['/api/queries', () => saved.all()],
      ['/api/plan', async (given) => plan(db, textOf(given, 'entity'), parseQuestion(given.get('q')))],
      [
        '/api/rows',
        (given, signal) =>
          reader.entityPage(textOf(given, 'entity'), parseQuestion(given.get('q')), requestOf(given, signal)),
      ],
      [
        '/api/table',
        (given, signal) => reader.tablePage(textOf(given, 'table'), fromOf(given), requestOf(given, signal)),
      ],
      ['/api/row', (given, signal) => reader.row(textOf(given, 'table'), textOf(given, 'row'), signal)],
    ]);
    this.streams = new Map<string, Stream>([
      ['/api/watch', (given, signal) => liveChanges(db, textOf(given, 'entity'), given.get('q'), signal)],
    ]);
    // A check keeps checkpoints in a table of Rowan's.
    this.jobs = new Map<string, Job>(
      write ? [['/api/index', (body, signal) => indexCheck(db, body, signal)]] : [],
    );
    const writes = new Writes(db);
    this.writes = new Map<string, Write>([
      ...(write
        ? ([
            ['/api/write/plan', (body) => writes.plan(askedOf(body['write']))],
            ['/api/write/make', (body) => writes.make(askedOf(body['write']), body['confirm'], body['seen'])],
            ['/api/write/undo', (body) => writes.undo(body['undo'])],
          ] as const satisfies readonly (readonly [string, Write])[])
        : []),
      ...(queries === undefined
        ? []
        : ([
            ['/api/queries/save', (body) => saved.save(body)],
            ['/api/queries/remove', (body) => saved.remove(String(body['name']))],
          ] as const satisfies readonly (readonly [string, Write])[])),
    ]);
  }

  value(given: URLSearchParams, signal: AbortSignal): Promise<CellValue> {
    const named = {
      table: textOf(given, 'table'),
      row: textOf(given, 'row'),
      column: textOf(given, 'column'),
      time: textOf(given, 'time'),
    };
    return cellValue(this.db, named, signal);
  }

  file(given: URLSearchParams, signal: AbortSignal): ExportedFile {
    const question = parseQuestion(given.get('q'));
    return exportedFile(
      this.db,
      textOf(given, 'entity'),
      question,
      textOf(given, 'format'),
      this.limits,
      signal,
    );
  }
}

function textOf(given: URLSearchParams, name: string): string {
  const text = given.get(name);
  if (text !== null && text !== '') return text;
  throw new InvalidArgumentError(`The request says no "${name}".`);
}

function requestOf(given: URLSearchParams, signal: AbortSignal): PageRequest {
  const size = Number(given.get('size') ?? 100);
  if (!Number.isInteger(size) || size < 1)
    throw new InvalidArgumentError('"size" is a whole number from 1 on.');
  return { size, cursor: given.get('cursor'), raw: given.get('raw') === '1', signal };
}

/** Where a table is read from: a row as HBase prints it. */
function fromOf(given: URLSearchParams): Uint8Array {
  return fromStringBinary(given.get('from') ?? '');
}

/** @throws InvalidArgumentError when it is no write. */
function askedOf(given: unknown): WriteAsked {
  const { entity, operation, row, values = {}, ...others } = (given ?? {}) as Record<string, unknown>;
  const isTexts =
    typeof values === 'object' &&
    values !== null &&
    Object.values(values).every((each) => each === null || typeof each === 'string');
  if (
    typeof entity !== 'string' ||
    !['insert', 'update', 'delete'].includes(String(operation)) ||
    !(row === undefined || typeof row === 'string') ||
    !isTexts ||
    Object.keys(others).length > 0
  )
    throw new InvalidArgumentError('A write has an entity, an operation, a row and values that are texts.');
  return given as WriteAsked;
}

// — The state of what Rowan derives from rows: indexes, summaries, copies. Reads no rows of entities.

/** Notes of the outbox that are counted. */
const MAX_NOTES = 1000;

/** The state of every index, summary and set of copies, in the order of their declaration. */
async function healthOf(db: StudioDatabase): Promise<HealthInfo[]> {
  const health: HealthInfo[] = [];
  const hasCopies = db.schema.entities.some(({ copies }) => copies.length > 0);
  const waiting = hasCopies ? await waitingNotes(db) : 0;
  for (const entity of db.schema.entities) {
    for (const index of entity.indexes) health.push(indexHealth(db, entity, index));
    for (const { name } of entity.summaries) health.push(await summaryHealth(db, entity, name));
    for (const { target, fields } of entity.copies) {
      health.push({
        entity: entity.name,
        kind: 'copies',
        name: `${fields.map(({ column }) => column.property).join(', ')} of ${db.schema.entity(target()).name}`,
        state: waiting === 0 ? 'active' : 'behind',
        note:
          waiting === 0
            ? 'No change of a source waits.'
            : `${waiting}${waiting === MAX_NOTES ? ' or more' : ''} changes wait in the outbox (of any entity).`,
      });
    }
  }
  return health;
}

function indexHealth(
  db: StudioDatabase,
  { target, name: entity }: EntitySchema,
  { name, unique, eventual }: EntitySchema['indexes'][number],
): HealthInfo {
  const state = db.index?.(target as KeyedClass, name as never).state;
  const kinds = [unique ? 'unique' : '', eventual ? 'eventual' : ''].filter((each) => each !== '');
  return { entity, kind: 'index', name, state: state ?? 'unknown', note: kinds.join(', ') };
}

async function summaryHealth(
  db: StudioDatabase,
  { target, name: entity }: EntitySchema,
  name: string,
): Promise<HealthInfo> {
  try {
    const state = (await db.summary?.(target as KeyedClass, name as never).state()) ?? 'unknown';
    return { entity, kind: 'summary', name, state, note: '' };
  } catch (error) {
    // Its table may not be there yet.
    return { entity, kind: 'summary', name, state: 'unknown', note: reason(error) };
  }
}

async function waitingNotes(db: StudioDatabase): Promise<number> {
  if (!(await db.admin.tableExists(OUTBOX_TABLE))) return 0;
  const scanner = db.engine.table(OUTBOX_TABLE).scan(new Scan().setLimit(MAX_NOTES));
  try {
    return (await scanner.nextBatch(MAX_NOTES)).length;
  } finally {
    await scanner.close();
  }
}

const MAX_QUERIES = 1000;

/** Queries under a name, in a file of the project that can be committed with it. */
class SavedQueries {
  private writing: Promise<unknown> = Promise.resolve();

  /** @param file Undefined: there are none, and none can be saved. */
  constructor(readonly file: string | undefined) {}

  /** Those in the file; none when it is not there. @throws InvalidArgumentError when it holds something else. */
  async all(): Promise<SavedQuery[]> {
    if (this.file === undefined) return [];
    let text: string;
    try {
      text = await readFile(this.file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
    try {
      return checkedList(JSON.parse(text));
    } catch (cause) {
      throw new InvalidArgumentError(
        `${this.file} is no list of saved queries: ${(cause as Error).message.replace(/\.?$/, '.')} Correct or remove it.`,
        { cause },
      );
    }
  }

  /** Saves a query in the place of one of its name. @throws InvalidArgumentError without a file. */
  save(query: unknown): Promise<SavedQuery[]> {
    const saved = checkedQuery(query);
    return this.change((all) => [...all.filter(({ name }) => name !== saved.name), saved]);
  }

  remove(name: string): Promise<SavedQuery[]> {
    return this.change((all) => all.filter((each) => each.name !== name));
  }

  /** One after the other; a reader sees the whole file before or after. */
  private change(to: (all: SavedQuery[]) => SavedQuery[]): Promise<SavedQuery[]> {
    const { file } = this;
    if (file === undefined)
      throw new InvalidArgumentError('Start the studio with --queries <file> to save queries.');
    const done = this.writing
      .catch(() => undefined)
      .then(async () => {
        const all = to(await this.all()).sort((a, b) => (a.name < b.name ? -1 : 1));
        if (all.length > MAX_QUERIES)
          throw new InvalidArgumentError(`${file} has ${MAX_QUERIES} queries: remove one first.`);
        await writeFile(`${file}.new`, `${JSON.stringify(all, undefined, 2)}\n`);
        await rename(`${file}.new`, file);
        return all;
      });
    this.writing = done;
    return done;
  }
}

function checkedList(given: unknown): SavedQuery[] {
  if (!Array.isArray(given)) throw new InvalidArgumentError('It is no JSON array.');
  return given.map(checkedQuery);
}

function checkedQuery(given: unknown): SavedQuery {
  const { name, entity, question } = (given ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string' || name.trim() === '' || name.length > 200)
    throw new InvalidArgumentError('A saved query has a name of up to 200 characters.');
  if (typeof entity !== 'string') throw new InvalidArgumentError(`"${name}" names no entity.`);
  return { name, entity, question: parseQuestion(JSON.stringify(question ?? {})) };
}
