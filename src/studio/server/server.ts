/**
 * The studio's server: a page that knows the entities of a database, and what it asks for as JSON. It stands on Node's own
 * HTTP server: its routes are two maps, one for reads and one for writes, and every request passes one guard.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { InvalidArgumentError, RowanError } from '../../errors.js';
import { problemEvent } from './live.js';
import { problemOf } from './questions.js';
import { Routes } from './routes.js';
import { DEFAULT_LIMITS, type Limits } from './rows.js';
import type { StudioDatabase } from './studio-database.js';

/** Bytes of a request that changes something. */
const MAX_BODY = 4 << 20;

/** Options of {@link startStudio}. */
export interface StudioOptions {
  /** The port at 127.0.0.1. Default 0: a free one. */
  readonly port?: number;
  /** How the page calls what it shows; default: nothing. */
  readonly place?: string;
  /** What one request may take; default: 1,000 rows, 8 MiB, 15 s. */
  readonly limits?: Partial<Limits>;
  /** Whether rows may be written and indexes repaired. Default false: no request changes the database. */
  readonly write?: boolean;
  /** A file of JSON for saved queries; it is made with the first. Default: none can be saved. */
  readonly queries?: string;
}

/** A studio that answers. */
export interface Studio extends AsyncDisposable {
  /** The address to open, with the token that lets a browser in. */
  readonly url: string;
  readonly port: number;
  /** Ends requests under way. The database stays open. */
  close(): Promise<void>;
}

/**
 * Shows a database at 127.0.0.1, read only unless `write` is given (docs/studio.md).
 * @throws RowanError `ERR_IO` when the port is taken; InvalidArgumentError when the page was not built.
 */
export async function startStudio(db: StudioDatabase, options: StudioOptions = {}): Promise<Studio> {
  const { port = 0, limits } = options;
  const guard = new Guard();
  const handler = new Handler(guard, new Assets(), new Routes(db, options, { ...DEFAULT_LIMITS, ...limits }));
  const server = createServer((request, response) => void handler.answer(request, response));
  await listening(server, port);
  const { port: taken } = server.address() as AddressInfo;
  guard.listensOn(taken);
  const close = async (): Promise<void> => {
    handler.close();
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
  private readonly closing = new AbortController();

  constructor(
    private readonly guard: Guard,
    private readonly assets: Assets,
    private readonly routes: Routes,
  ) {}

  /** Ends streams and requests under way. */
  close(): void {
    this.closing.abort();
  }

  /** Never throws. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    setHeaders(response);
    const url = urlOf(request);
    if (url === undefined) return end(response, 400, 'text/plain', 'This is no address.\n');
    const admission = this.guard.admit(request, url);
    if (admission.kind === 'refused')
      return end(response, admission.status, 'text/plain', `${admission.why}\n`);
    if (request.method === 'POST') return this.post(request, response, url);
    if (request.method !== 'GET') return notAllowed(response, 'The studio answers GET and POST.\n');
    if (admission.kind === 'enter') {
      response.setHeader('set-cookie', admission.cookie);
      // Without the token: addresses are kept, shown, and sent on.
      response.setHeader('location', '/');
      return end(response, 303, 'text/plain', '');
    }
    const { reads, streams } = this.routes;
    const read = reads.get(url.pathname);
    if (read !== undefined) return this.json(response, (signal) => read(url.searchParams, signal));
    const stream = streams.get(url.pathname);
    if (stream !== undefined) return this.stream(response, (signal) => stream(url.searchParams, signal));
    if (url.pathname === '/api/export') return this.file(url.searchParams, response);
    if (url.pathname === '/api/value') return this.value(url.searchParams, response);
    const asset = this.assets.find(url.pathname);
    if (asset === undefined) return end(response, 404, 'text/plain', 'There is nothing here.\n');
    end(response, 200, asset.type, asset.bytes);
  }

  /** A request that changes something: there is such a route only where it was asked for when the studio was started. */
  private post(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> | void {
    const route = this.routes.writes.get(url.pathname);
    const job = this.routes.jobs.get(url.pathname);
    if (route === undefined && job === undefined)
      return notAllowed(response, 'The studio only reads here.\n');
    if (!isOwnJson(request))
      return end(response, 403, 'text/plain', 'A change is sent as JSON by the page of the studio.\n');
    if (route !== undefined)
      return this.json(response, async (signal) => route(await bodyOf(request), signal));
    return this.stream(response, async function* (signal) {
      yield* job!(await bodyOf(request), signal);
    });
  }

  private json(response: ServerResponse, route: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    return this.within(response, async (signal) => {
      const answer = await route(signal);
      if (!response.destroyed) end(response, 200, 'application/json', JSON.stringify(answer));
    });
  }

  /** Server-sent events, one an item, until the page leaves or the items end. */
  private async stream(
    response: ServerResponse,
    items: (signal: AbortSignal) => AsyncGenerator<unknown, void>,
  ): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.closing.signal]);
    response.setHeader('content-type', 'text/event-stream; charset=utf-8');
    response.write(': the stream is open\n\n');
    try {
      for await (const item of items(signal)) {
        if (!response.write(`data: ${JSON.stringify(item)}\n\n`))
          await new Promise((resolve) => {
            response.once('drain', resolve);
            response.once('close', resolve);
          });
      }
    } catch (error) {
      if (!signal.aborted) response.write(problemEvent(error));
    }
    response.end('event: end\ndata: {}\n\n');
  }

  /** The bytes of a cell: a picture is drawn, all else is a download. */
  private value(given: URLSearchParams, response: ServerResponse): Promise<void> {
    return this.within(response, async (signal) => {
      const { type, bytes } = await this.routes.value(given, signal);
      if (!type.startsWith('image/'))
        response.setHeader('content-disposition', 'attachment; filename="value.bin"');
      end(response, 200, type, bytes);
    });
  }

  /** A file, piece by piece. What is wrong before the first is said; after it the file is left unfinished, which browsers tell. */
  private file(given: URLSearchParams, response: ServerResponse): Promise<void> {
    return this.within(response, async (signal) => {
      const { type, name, pieces } = this.routes.file(given, signal);
      const first = await pieces.next();
      response.setHeader(
        'content-type',
        type.startsWith('text/') || type.includes('json') ? `${type}; charset=utf-8` : type,
      );
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
    const { time } = this.routes.limits;
    const signal = AbortSignal.any([gone.signal, this.closing.signal, AbortSignal.timeout(time)]);
    try {
      await work(signal);
    } catch (error) {
      if (response.destroyed) return;
      if (response.headersSent) {
        response.destroy();
        return;
      }
      const late = signal.aborted
        ? { code: 'ERR_TIMEOUT', message: `It takes longer than ${time / 1000} s: ask for less.` }
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

function notAllowed(response: ServerResponse, why: string): void {
  response.setHeader('allow', 'GET');
  end(response, 405, 'text/plain', why);
}

/** Browsers send JSON to another origin only when that lets them, and name the origin that a change comes from. */
function isOwnJson({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined && /^application\/json(;|$)/.test(headers['content-type'] ?? '');
}

/** @throws InvalidArgumentError when the body is no JSON, or too large. */
async function bodyOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MAX_BODY)
      throw new InvalidArgumentError(
        `A request has ${MAX_BODY >> 20} MiB at most. Write larger values by a program.`,
      );
    parts.push(part);
  }
  let given: unknown;
  try {
    given = JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch (cause) {
    throw new InvalidArgumentError('The request is no JSON.', { cause });
  }
  if (typeof given === 'object' && given !== null) return given as Readonly<Record<string, unknown>>;
  throw new InvalidArgumentError('The request is no JSON object.');
}

/** Who may ask: a browser of this machine that was given the token, and no other page in it. */

/** What a request is: let in, sent on with a cookie, or refused. */
type Admission =
  | { readonly kind: 'in' }
  | { readonly kind: 'enter'; readonly cookie: string }
  | { readonly kind: 'refused'; readonly status: 401 | 403; readonly why: string };

/** Nothing from elsewhere is loaded, run, or framed; the page asks its own server only. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

class Guard {
  /** Stands in the first URL only. */
  readonly token: string = randomBytes(24).toString('base64url');
  private readonly session = randomBytes(24).toString('base64url');
  private hosts: ReadonlySet<string> = new Set();
  private cookieName = '';

  /** The port that is listened on: another program of this machine may have a cookie of this name for another one. */
  listensOn(port: number): void {
    this.hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`]);
    this.cookieName = `rowan_studio_${port}`;
  }

  admit(request: IncomingMessage, url: URL): Admission {
    const { host, origin } = request.headers;
    // A name of elsewhere that resolves to this machine (DNS rebinding) comes with its own Host.
    if (host === undefined || !this.hosts.has(host)) {
      return { kind: 'refused', status: 403, why: 'The studio answers at 127.0.0.1 and localhost only.' };
    }
    const foreign = origin !== undefined && origin !== `http://${host}`;
    const site = request.headers['sec-fetch-site'];
    if (foreign || site === 'cross-site' || (site === 'same-site' && origin !== undefined)) {
      return { kind: 'refused', status: 403, why: 'The studio answers its own page only.' };
    }
    const token = url.searchParams.get('token');
    if (url.pathname === '/' && token !== null && same(token, this.token)) {
      return {
        kind: 'enter',
        cookie: `${this.cookieName}=${this.session}; HttpOnly; SameSite=Strict; Path=/`,
      };
    }
    if (same(cookieOf(request, this.cookieName) ?? '', this.session)) return { kind: 'in' };
    return {
      kind: 'refused',
      status: 401,
      why: 'Open the address that "rowan studio" printed: it has the token that lets this browser in.',
    };
  }
}

/** Takes the same time whatever differs. */
function same(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

function cookieOf(request: IncomingMessage, name: string): string | undefined {
  for (const cookie of (request.headers.cookie ?? '').split(';')) {
    const at = cookie.indexOf('=');
    if (cookie.slice(0, at).trim() === name) return cookie.slice(at + 1).trim();
  }
  return undefined;
}

function setHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
}

/** The files of the page, in memory: nothing else of the disk can be asked for. */

interface Asset {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** Beside the bundle that has this module; of compiled sources and their tests in `dist`. */
const FOLDERS: readonly string[] = ['./studio/', '../../../dist/studio/', '../../../../dist/studio/'];

const FILES: readonly (readonly [path: string, file: string, type: string])[] = [
  ['/', 'studio.html', 'text/html'],
  ['/studio.js', 'studio.js', 'text/javascript'],
  ['/studio.css', 'studio.css', 'text/css'],
];

class Assets {
  private readonly assets: ReadonlyMap<string, Asset>;

  /** @throws InvalidArgumentError when the page was not built. */
  constructor() {
    const folder = FOLDERS.map((each) => fileURLToPath(new URL(each, import.meta.url))).find((each) =>
      existsSync(`${each}studio.html`),
    );
    if (folder === undefined) {
      throw new InvalidArgumentError(
        'The files of the studio are not there: run "npm run build" in the repository.',
      );
    }
    this.assets = new Map(
      FILES.map(([path, file, type]) => [path, { type, bytes: readFileSync(`${folder}${file}`) }] as const),
    );
  }

  find(path: string): Asset | undefined {
    return this.assets.get(path);
  }
}
