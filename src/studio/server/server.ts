/**
 * The studio's server: a page that knows the entities of a database, and what it asks for as JSON. It stands on Node's own
 * HTTP server: a dozen routes, all of them reads, need no framework, and every request passes one guard.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { fromStringBinary } from '../../bytes/index.js';
import type { Database } from '../../database.js';
import { InvalidArgumentError, RowanError } from '../../errors.js';
import { Assets } from './assets.js';
import { catalogOf, regionsOf, schemaReport } from './catalog.js';
import { exportedFile } from './export.js';
import { Guard, setHeaders } from './guard.js';
import { parseQuestion, plan, problemOf } from './questions.js';
import { DEFAULT_LIMITS, type Limits, type PageRequest, RowReader } from './rows.js';

/** Options of {@link startStudio}. */
export interface StudioOptions {
  /** Default 0: a free one. */
  readonly port?: number;
  /** How the page calls what it shows; default: nothing. */
  readonly place?: string;
  /** What one request may take; default: 1,000 rows, 8 MiB, 15 s. */
  readonly limits?: Partial<Limits>;
}

/** A studio that answers. */
export interface Studio extends AsyncDisposable {
  /** The address to open, with the token that lets a browser in. */
  readonly url: string;
  readonly port: number;
  /** Ends requests under way. The database stays open. */
  close(): Promise<void>;
}

type Route = (parameters: URLSearchParams, signal: AbortSignal) => Promise<unknown>;

/**
 * Shows a database at 127.0.0.1, read only (docs/studio.md).
 * @throws RowanError `ERR_IO` when the port is taken; InvalidArgumentError when the page was not built.
 */
export async function startStudio(db: Database, options: StudioOptions = {}): Promise<Studio> {
  const { port = 0, place = '', limits } = options;
  const guard = new Guard();
  const handler = new Handler(db, guard, new Assets(), place, { ...DEFAULT_LIMITS, ...limits });
  const server = createServer((request, response) => void handler.answer(request, response));
  await listening(server, port);
  const { port: taken } = server.address() as AddressInfo;
  guard.listensOn(taken);
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${taken}/?token=${guard.token}`,
    port: taken,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new RowanError(
          'ERR_IO',
          `The studio cannot listen on port ${port}: ${cause.message}. Give another --port.`,
          { cause },
        ),
      ),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
}

class Handler {
  private readonly routes: ReadonlyMap<string, Route>;

  constructor(
    private readonly db: Database,
    private readonly guard: Guard,
    private readonly assets: Assets,
    place: string,
    private readonly limits: Limits,
  ) {
    const reader = new RowReader(db, limits);
    this.routes = new Map<string, Route>([
      ['/api/catalog', () => catalogOf(db, place)],
      ['/api/regions', (given) => regionsOf(db, textOf(given, 'table'))],
      ['/api/schema', () => schemaReport(db)],
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
  }

  /** Never throws. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    setHeaders(response);
    const url = urlOf(request);
    if (url === undefined) return end(response, 400, 'text/plain', 'This is no address.\n');
    const admission = this.guard.admit(request, url);
    if (admission.kind === 'refused')
      return end(response, admission.status, 'text/plain', `${admission.why}\n`);
    if (request.method !== 'GET') {
      response.setHeader('allow', 'GET');
      return end(response, 405, 'text/plain', 'The studio only reads.\n');
    }
    if (admission.kind === 'enter') {
      response.setHeader('set-cookie', admission.cookie);
      // Without the token: addresses are kept, shown, and sent on.
      response.setHeader('location', '/');
      return end(response, 303, 'text/plain', '');
    }
    const route = this.routes.get(url.pathname);
    if (route !== undefined) return this.json(route, url.searchParams, response);
    if (url.pathname === '/api/export') return this.file(url.searchParams, response);
    const asset = this.assets.find(url.pathname);
    if (asset === undefined) return end(response, 404, 'text/plain', 'There is nothing here.\n');
    end(response, 200, asset.type, asset.bytes);
  }

  private json(route: Route, given: URLSearchParams, response: ServerResponse): Promise<void> {
    return this.within(response, async (signal) => {
      const answer = await route(given, signal);
      if (!response.destroyed) end(response, 200, 'application/json', JSON.stringify(answer));
    });
  }

  /** A file, piece by piece. What is wrong before the first is said; after it the file is left unfinished, which browsers tell. */
  private file(given: URLSearchParams, response: ServerResponse): Promise<void> {
    return this.within(response, async (signal) => {
      const question = parseQuestion(given.get('q'));
      const { type, name, pieces } = exportedFile(
        this.db,
        textOf(given, 'entity'),
        question,
        textOf(given, 'format'),
        this.limits,
        signal,
      );
      const first = await pieces.next();
      response.setHeader('content-type', `${type}; charset=utf-8`);
      response.setHeader('content-disposition', `attachment; filename="${name}"`);
      if (first.done !== true) response.write(first.value);
      await pipeline(pieces, response);
    });
  }

  /** Does what a request asks, for as long as it may take, and says what is wrong. */
  private async within(
    response: ServerResponse,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const gone = new AbortController();
    // A page that was left wants no answer.
    response.once('close', () => gone.abort());
    const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(this.limits.time)]);
    try {
      await work(signal);
    } catch (error) {
      if (response.destroyed) return;
      if (response.headersSent) {
        response.destroy();
        return;
      }
      const late = signal.aborted
        ? { code: 'ERR_TIMEOUT', message: `It takes longer than ${this.limits.time / 1000} s: ask for less.` }
        : problemOf(error);
      const status = error instanceof RowanError || signal.aborted ? 422 : 500;
      end(response, status, 'application/json', JSON.stringify({ problem: late }));
    }
  }
}

function urlOf({ url = '/' }: IncomingMessage): URL | undefined {
  try {
    return new URL(url, 'http://127.0.0.1');
  } catch {
    return undefined;
  }
}

function end(response: ServerResponse, status: number, type: string, body: string | Uint8Array): void {
  response.statusCode = status;
  response.setHeader(
    'content-type',
    type.startsWith('text/') || type.endsWith('json') ? `${type}; charset=utf-8` : type,
  );
  response.end(body);
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
