/** What is held of the pages on frameworks and on Docker: the programs start and answer, the files parse and fit together. */

import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HERE, own, ROOT } from './builds.js';
import { blockOf, project, tsconfig } from './commonjs.js';
import { APP, type Consumer, guide, outcome } from './consumers.js';

const FILES = ['note.ts', 'fastify.ts', 'hono.ts', 'trpc.ts', 'db.ts', 'route.ts'];
const PACKAGES = ['fastify', 'fastify-plugin', 'hono', '@hono/node-server', '@trpc/server'];

/** What each server answers to the same calls. */
const ANSWERS = '201 n1 Hello 409 404 400 400 up';

/** Calls a server that takes and gives notes. */
const CALL = `
const headers = { 'content-type': 'application/json' };
const post = (url, note) => fetch(url + '/notes', { method: 'POST', headers, body: JSON.stringify(note) });

export async function call(url) {
  const added = await post(url, { id: 'n1', title: 'Hello' });
  const note = await (await fetch(url + '/notes/n1')).json();
  const again = await post(url, { id: 'n1', title: 'Other' });
  const missing = await fetch(url + '/notes/n2');
  const untitled = await post(url, { id: 'n3' });
  const unknown = await post(url, { id: 'n3', title: 'T', admin: true });
  const health = await (await fetch(url + '/health')).json();
  return [added.status, note.id, note.title, again.status, missing.status, untitled.status, unknown.status, health.status].join(' ');
}
`;

const FASTIFY = `
import { call } from './call.js';
import { server } from './out/fastify.js';

const app = await server('fastify-data');
console.log(await call(await app.listen({ port: 0, host: '127.0.0.1' })));
await app.close();
const again = await server('fastify-data');
console.log((await again.inject('/notes/n1')).statusCode);
await again.close();
`;

const HONO = `
import { once } from 'node:events';
import { serve } from '@hono/node-server';
import { open } from 'rowan-orm';
import { call } from './call.js';
import { server } from './out/hono.js';
import { Note } from './out/note.js';

const db = await open({ path: 'hono-data', entities: [Note] });
const http = serve({ fetch: server(db).fetch, port: 0, hostname: '127.0.0.1' });
if (!http.listening) await once(http, 'listening');
console.log(await call('http://127.0.0.1:' + http.address().port));
http.closeAllConnections();
await new Promise((resolve) => http.close(resolve));
await db.close();
`;

const TRPC = `
import { once } from 'node:events';
import { createHTTPServer } from '@trpc/server/adapters/standalone';
import { open } from 'rowan-orm';
import { Note } from './out/note.js';
import { router } from './out/trpc.js';

const db = await open({ path: 'trpc-data', entities: [Note] });
const http = createHTTPServer({ router, createContext: () => ({ db }) });
http.listen(0, '127.0.0.1');
await once(http, 'listening');
const url = 'http://127.0.0.1:' + http.address().port;
const headers = { 'content-type': 'application/json' };
const add = (note) => fetch(url + '/add', { method: 'POST', headers, body: JSON.stringify(note) });
const get = (key) => fetch(url + '/note?input=' + encodeURIComponent(JSON.stringify(key)));
const added = await add({ id: 'n1', title: 'Hello' });
const { result } = await (await get({ id: 'n1' })).json();
const statuses = [];
for (const answer of [await add({ id: 'n1', title: 'Other' }), await get({ id: 'n2' }), await add({ id: 'n3' }), await get({})]) {
  statuses.push(answer.status);
}
console.log(added.status, result.data.title, ...statuses);
http.closeAllConnections();
await new Promise((resolve) => http.close(resolve));
await db.close();
`;

/** Copies stand for modules that are evaluated again: first the route alone, then the entity as well. */
const NEXT = `
import { cpSync } from 'node:fs';
const handlers = async (folder) => import('./' + folder + '/route.js');
const params = Promise.resolve({ id: 'n1' });
const put = (body) => new Request('http://localhost/notes/n1', { method: 'PUT', body: JSON.stringify(body) });
const first = await handlers('out');
const written = await first.PUT(put({ title: 'Hello' }), { params });
const refused = await first.PUT(put({ title: 5 }), { params });
const missing = await first.GET(undefined, { params: Promise.resolve({ id: 'n2' }) });
const opened = await globalThis.rowan.db;
const same = await import('./out/db.js?again');
console.log(written.status, refused.status, missing.status, (await same.database()) === opened);
cpSync('out', 'reloaded', { recursive: true });
const second = await handlers('reloaded');
console.log((await (await second.GET(undefined, { params })).json()).title, (await globalThis.rowan.db) === opened);
await (await globalThis.rowan.db).close();
`;

const home = (): string => join(APP, 'frameworks');

async function compile(): Promise<string | undefined> {
  const folder = project('frameworks', 'module');
  for (const name of FILES)
    writeFileSync(join(folder, name), blockOf('frameworks', `ts no-run file=${name}`));
  const programs = {
    'call.js': CALL,
    'fastify.js': FASTIFY,
    'hono.js': HONO,
    'trpc.js': TRPC,
    'next.js': NEXT,
  };
  for (const [name, program] of Object.entries(programs)) writeFileSync(join(folder, name), program);
  for (const name of PACKAGES) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    if (!existsSync(link)) symlinkSync(join(HERE, 'node_modules', name), link, 'junction');
  }
  const options = { module: 'nodenext', outDir: join(folder, 'out'), rootDir: folder };
  return outcome([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', tsconfig(folder, options, FILES)]);
}

const run =
  (program: string, wanted: string): Consumer['check'] =>
  () =>
    outcome([join(home(), program)], wanted, home());

/** Every block of a page with this language. */
function blocksOf(page: string, language: string): string[] {
  const blocks = guide(page).matchAll(new RegExp(`^\`\`\`${language} [^\\n]*\\n([\\s\\S]*?)^\`\`\``, 'gm'));
  return [...blocks].map(([, text]) => text!);
}

interface ComposeService {
  readonly image?: string;
  readonly build?: string;
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly depends_on?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

interface ComposeFile {
  readonly services?: Readonly<Record<string, ComposeService>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
  readonly networks?: Readonly<Record<string, unknown>>;
}

const INSTRUCTIONS: ReadonlySet<string> = new Set(
  'FROM WORKDIR COPY RUN ENV USER VOLUME EXPOSE STOPSIGNAL HEALTHCHECK CMD'.split(' '),
);

interface Instruction {
  getKeyword(): string;
  toString(): string;
}

/** The part of dockerfile-ast that is used. It is installed for the matrix alone. */
interface DockerfileAst {
  readonly DockerfileParser: {
    parse(text: string): {
      getInstructions(): readonly Instruction[];
      getFROMs(): readonly { getBuildStage(): string | null }[];
      getCOPYs(): readonly { getFromFlag(): { getValue(): string | null } | null }[];
    };
  };
}

async function docker(): Promise<string | undefined> {
  const problems: string[] = [];
  const { DockerfileParser } = own('dockerfile-ast') as DockerfileAst;
  const { parse } = own('yaml') as { parse(text: string): unknown };
  const [dockerfile] = blocksOf('docker', 'dockerfile');
  const parsed = DockerfileParser.parse(dockerfile!);
  const found = parsed.getInstructions();
  for (const instruction of found) {
    if (!INSTRUCTIONS.has(instruction.getKeyword()))
      problems.push(`unknown instruction ${instruction.getKeyword()}`);
  }
  const volumes = found.filter((one) => one.getKeyword() === 'VOLUME').join(' ');
  const stages = new Set(parsed.getFROMs().map((from) => from.getBuildStage()));
  for (const copy of parsed.getCOPYs()) {
    const from = copy.getFromFlag()?.getValue();
    if (from !== undefined && from !== null && !stages.has(from)) problems.push(`no stage ${from}`);
  }
  if (!found.at(-1)!.toString().startsWith('CMD [')) problems.push('CMD is no list, and takes no signals');
  const files = blocksOf('docker', 'yaml').map((text) => parse(text) as ComposeFile);
  if (files.length !== 3) problems.push(`${files.length} Compose files in place of 3`);
  for (const file of files) {
    const services = Object.entries(file.services ?? {});
    if (services.length === 0) problems.push('a Compose file without services');
    for (const [name, { image, build, volumes: mounts = [], networks = [], depends_on = [] }] of services) {
      if (image === undefined && build === undefined) problems.push(`${name} has neither image nor build`);
      for (const mount of mounts) {
        const [volume, path] = mount.split(':') as [string, string];
        if (!Object.hasOwn(file.volumes ?? {}, volume)) problems.push(`no volume ${volume}`);
        if (!volumes.includes(`"${path}"`)) problems.push(`the image declares no volume ${path}`);
      }
      for (const network of networks) {
        if (network !== 'default' && !Object.hasOwn(file.networks ?? {}, network))
          problems.push(`no network ${network}`);
      }
      for (const other of depends_on) {
        if (!Object.hasOwn(file.services!, other)) problems.push(`no service ${other}`);
      }
    }
  }
  return problems.length === 0 ? undefined : problems.join('\n');
}

export const FRAMEWORKS: readonly Consumer[] = [
  { name: 'the programs for frameworks compile', check: compile },
  {
    name: 'Fastify: its plugin starts, answers, and closes the store',
    check: run('fastify.js', `${ANSWERS}\n200`),
  },
  { name: 'Hono: its middleware starts and answers', check: run('hono.js', ANSWERS) },
  {
    name: 'tRPC takes the schemas, and answers with its codes',
    check: run('trpc.js', '200 Hello 409 404 400 400'),
  },
  {
    name: 'route handlers of Next.js keep one database over hot reload',
    check: run('next.js', '204 400 404 true\nHello false'),
  },
  { name: 'Dockerfile and Compose files parse and fit together', check: docker },
];
