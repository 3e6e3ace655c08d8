/**
 * The studio's server: a page that knows the entities of a database, and what it asks for as JSON. It stands on Hono: its routes are maps,
 * one of reads and one of writes, and every request passes one guard.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { Hono, type Context as HonoContext } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { getCookie, setCookie } from 'hono/cookie';
import { InvalidArgumentError, RowanError } from '../../errors.js';
import { problemEvent } from './live.js';
import { problemOf } from './questions.js';
import { type Job, Routes, type Stream } from './routes.js';
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
  /** The limits of one request; default: 1,000 rows, 8 MiB, 15 s. */
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
  const closing = new AbortController();
  const routes = new Routes(db, options, { ...DEFAULT_LIMITS, ...limits });
  const app = studioApp(guard, new Assets(), routes, closing.signal);
  // An application that shows its database keeps its own Request and Response.
  const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer((request, response) => {
    // Also of what is refused before it is read as a request.
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    void answer(request, response);
  });
  await listening(server, port);
  const { port: taken } = server.address() as AddressInfo;
  guard.listensOn(taken);
  const close = async (): Promise<void> => {
    // Ends streams and requests under way.
    closing.abort();
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

type OnNode = { Bindings: HttpBindings };
type Context = HonoContext<OnNode>;

/** The app that answers requests: the guard first, then the routes, then the files of the page. */
function studioApp(guard: Guard, assets: Assets, routes: Routes, closing: AbortSignal): Hono<OnNode> {
  const app = new Hono<OnNode>();
  const answers = new Answers(routes.limits.time, closing);
  app.use(async (c, next) => {
    const refused = guard.refusal(c);
    if (refused !== undefined) return c.text(`${refused.why}\n`, refused.status);
    const { method } = c.req;
    if (method !== 'GET' && method !== 'POST') return notAllowed(c, 'The studio answers GET and POST.\n');
    if (method === 'GET' && guard.isFirst(c)) return guard.enter(c);
    return next();
  });
  for (const [path, read] of routes.reads)
    app.get(path, (c) => answers.json(c, (signal) => read(parametersOf(c), signal)));
  for (const [path, stream] of routes.streams)
    app.get(path, (c) => answers.events(c, (signal) => stream(parametersOf(c), signal)));
  app.get('/api/export', (c) => answers.file(c, (signal) => routes.file(parametersOf(c), signal)));
  app.get('/api/value', (c) => answers.value(c, (signal) => routes.value(parametersOf(c), signal)));
  for (const [path, write] of routes.writes)
    app.post(path, ownJson, smallBody, (c) =>
      answers.json(c, async (signal) => write(await bodyOf(c), signal)),
    );
  for (const [path, job] of routes.jobs)
    app.post(path, ownJson, smallBody, (c) =>
      answers.events(c, async function* (signal) {
        yield* job(await bodyOf(c), signal);
      }),
    );
  for (const [path, { type, bytes }] of assets.all)
    app.get(path, (c) => c.body(bytes, 200, { 'content-type': type }));
  app.notFound((c) =>
    c.req.method === 'POST'
      ? notAllowed(c, 'The studio only reads here.\n')
      : c.text('There is nothing here.\n', 404),
  );
  return app;
}

const parametersOf = (c: Context): URLSearchParams => new URL(c.req.url).searchParams;

function notAllowed(c: Context, why: string): Response {
  return c.text(why, 405, { allow: 'GET' });
}

/** Browsers send JSON to another origin only when that lets them, and name the origin that a change comes from. */
async function ownJson(c: Context, next: () => Promise<void>): Promise<Response | undefined> {
  const isOwn =
    c.req.header('origin') !== undefined &&
    /^application\/json(;|$)/.test(c.req.header('content-type') ?? '');
  if (!isOwn) return c.text('A change is sent as JSON by the page of the studio.\n', 403);
  await next();
  return undefined;
}

const smallBody = bodyLimit({
  maxSize: MAX_BODY,
  onError: (c) =>
    c.json(
      {
        problem: problemOf(
          new InvalidArgumentError(
            `A request has ${MAX_BODY >> 20} MiB at most. Write larger values by a program.`,
          ),
        ),
      },
      422,
    ),
});

/** @throws InvalidArgumentError when the body is no JSON object. */
async function bodyOf(c: Context): Promise<Readonly<Record<string, unknown>>> {
  let given: unknown;
  try {
    given = JSON.parse(await c.req.text());
  } catch (cause) {
    throw new InvalidArgumentError('The request is no JSON.', { cause });
  }
  if (typeof given === 'object' && given !== null) return given as Readonly<Record<string, unknown>>;
  throw new InvalidArgumentError('The request is no JSON object.');
}

/** Does what requests ask, for as long as they may take and the page waits, and says what is wrong. */
class Answers {
  constructor(
    /** Milliseconds. */
    private readonly time: number,
    private readonly closing: AbortSignal,
  ) {}

  json(c: Context, route: (signal: AbortSignal) => Promise<unknown>): Promise<Response> {
    return this.within(c, async (signal) => c.json(await route(signal)));
  }

  /** Server-sent events, one an item, until the page leaves or the items end. */
  events(c: Context, items: (signal: AbortSignal) => ReturnType<Stream> | ReturnType<Job>): Response {
    const signal = AbortSignal.any([c.req.raw.signal, this.closing]);
    const lines = async function* (): AsyncGenerator<string, void> {
      yield ': the stream is open\n\n';
      try {
        for await (const item of items(signal)) yield `data: ${JSON.stringify(item)}\n\n`;
      } catch (error) {
        if (!signal.aborted) yield problemEvent(error);
      }
      yield 'event: end\ndata: {}\n\n';
    };
    return c.body(streamOf(c, lines()), 200, { 'content-type': 'text/event-stream; charset=utf-8' });
  }

  /** The bytes of a cell: a picture is drawn, all else is a download. */
  value(c: Context, route: (signal: AbortSignal) => ReturnType<Routes['value']>): Promise<Response> {
    return this.within(c, async (signal) => {
      const { type, bytes } = await route(signal);
      return c.body(new Uint8Array(bytes), 200, {
        'content-type': type,
        'content-length': String(bytes.length),
        ...(!type.startsWith('image/') && { 'content-disposition': 'attachment; filename="value.bin"' }),
      });
    });
  }

  /** A file, piece by piece. What is wrong before the first is said; after it the file is left unfinished, which browsers tell. */
  file(c: Context, route: (signal: AbortSignal) => ReturnType<Routes['file']>): Promise<Response> {
    return this.within(c, async (signal) => {
      const { type, name, pieces } = route(signal);
      const first = await pieces.next();
      const all = async function* (): AsyncGenerator<string | Uint8Array, void> {
        if (first.done !== true) yield first.value;
        yield* pieces;
      };
      return c.body(streamOf(c, all()), 200, {
        'content-type': type.startsWith('text/') || type.includes('json') ? `${type}; charset=utf-8` : type,
        'content-disposition': `attachment; filename="${name}"`,
      });
    });
  }

  private async within(c: Context, work: (signal: AbortSignal) => Promise<Response>): Promise<Response> {
    // A page that was left wants no answer.
    const signal = AbortSignal.any([c.req.raw.signal, this.closing, AbortSignal.timeout(this.time)]);
    try {
      return await work(signal);
    } catch (error) {
      const problem = signal.aborted
        ? { code: 'ERR_TIMEOUT', message: `It takes longer than ${this.time / 1000} s: ask for less.` }
        : problemOf(error);
      return c.json({ problem }, error instanceof RowanError || signal.aborted ? 422 : 500);
    }
  }
}

/** A body of what a generator yields. An error in it ends the connection. */
function streamOf(c: Context, pieces: AsyncGenerator<string | Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(typeof value === 'string' ? Buffer.from(value) : value);
      } catch {
        c.env.outgoing.destroy();
        controller.close();
      }
    },
    async cancel() {
      await pieces.return();
    },
  });
}

/** Why a request is refused. */
interface Refusal {
  readonly status: 401 | 403;
  readonly why: string;
}

/** Security headers: the page loads, runs and frames nothing from elsewhere, and asks its own server only. */
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

/** Admits requests of a browser of this machine that was given the token, and of no other page in it. */
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

  refusal(c: Context): Refusal | undefined {
    const host = c.req.header('host');
    const origin = c.req.header('origin');
    // A name of elsewhere that resolves to this machine (DNS rebinding) comes with its own Host.
    if (host === undefined || !this.hosts.has(host))
      return { status: 403, why: 'The studio answers at 127.0.0.1 and localhost only.' };
    const foreign = origin !== undefined && origin !== `http://${host}`;
    const site = c.req.header('sec-fetch-site');
    if (foreign || site === 'cross-site' || (site === 'same-site' && origin !== undefined))
      return { status: 403, why: 'The studio answers its own page only.' };
    if (this.isFirst(c) || same(getCookie(c, this.cookieName) ?? '', this.session)) return undefined;
    return {
      status: 401,
      why: 'Open the address that "rowan studio" printed: it has the token that lets this browser in.',
    };
  }

  /** Whether this is the first address, with the token. */
  isFirst(c: Context): boolean {
    const token = c.req.query('token');
    return c.req.path === '/' && token !== undefined && same(token, this.token);
  }

  /** Gives the cookie, and leaves the address without the token: addresses are kept, shown, and sent on. */
  enter(c: Context): Response {
    setCookie(c, this.cookieName, this.session, { httpOnly: true, sameSite: 'Strict', path: '/' });
    return c.redirect('/', 303);
  }
}

/** Takes the same time whatever differs. */
function same(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

interface Asset {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Beside the bundle that has this module; of compiled sources and their tests in `dist`. */
const FOLDERS: readonly string[] = ['./studio/', '../../../dist/studio/', '../../../../dist/studio/'];

const FILES: readonly (readonly [path: string, file: string, type: string])[] = [
  ['/', 'studio.html', 'text/html'],
  ['/studio.js', 'studio.js', 'text/javascript'],
  ['/studio.css', 'studio.css', 'text/css'],
];

/** The files of the page, in memory: nothing else of the disk can be asked for. */
class Assets {
  readonly all: ReadonlyMap<string, Asset>;

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
    this.all = new Map(
      FILES.map(
        ([path, file, type]) =>
          [
            path,
            { type: `${type}; charset=utf-8`, bytes: new Uint8Array(readFileSync(`${folder}${file}`)) },
          ] as const,
      ),
    );
  }
}
