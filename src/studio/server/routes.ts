/** What can be asked of the studio: reads, streams, and the changes that it was started to make. */

import { fromStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import type { WriteAsked } from './api.js';
import { catalogOf, regionsOf, schemaReport } from './catalog.js';
import { type CellValue, cellValue } from './cell-value.js';
import { type ExportedFile, exportedFile } from './export.js';
import { healthOf } from './health.js';
import { indexCheck, liveChanges } from './live.js';
import { countersOf, heatOf } from './load.js';
import { parseQuestion, plan } from './questions.js';
import { type Limits, type PageRequest, RowReader } from './rows.js';
import { SavedQueries } from './saved-queries.js';
import type { StudioDatabase } from './studio-database.js';
import { Writes } from './writes.js';

type Body = Readonly<Record<string, unknown>>;
type Read = (given: URLSearchParams, signal: AbortSignal) => Promise<unknown>;
type Stream = (given: URLSearchParams, signal: AbortSignal) => AsyncGenerator<unknown, void>;
type Job = (body: Body, signal: AbortSignal) => AsyncGenerator<unknown, void>;
type Write = (body: Body, signal: AbortSignal) => Promise<unknown>;

export interface RouteOptions {
  readonly place?: string;
  readonly write?: boolean;
  readonly queries?: string;
}

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
