import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url));
const PACKAGE = JSON.stringify(join(DIST, 'index.js'));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-loading-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** What the program prints as JSON; `required()` gives the names of the packages of CommonJS that are loaded. */
function told(body: string): unknown {
  const program = `
    import { createRequire } from 'node:module';
    const { cache } = createRequire(import.meta.url);
    const required = () => [...new Set(Object.keys(cache).map((path) => path.split('node_modules/').at(-1).split('/')[0]))];
    const rowan = await import(${PACKAGE});
    const { boolean, defineEntity, defineTable, open, part, text } = rowan;
    ${body}`;
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8', cwd: folder }),
  );
}

it('an import loads no package, and neither do an opening, a write and a read; toPlain loads class-transformer', () => {
  const found = told(`
    const Note = defineEntity({
      name: 'Note',
      table: defineTable({ name: 'notes', families: { d: {} } }),
      key: [part('id', text)],
      columns: (c) => ({ done: c.column('d:d', boolean) }),
    });
    const seen = { imported: required() };
    const db = await open({ path: 'store', entities: [Note] });
    const notes = db.repository(Note);
    await notes.put({ id: 'a', done: true });
    await notes.get({ id: 'a' });
    seen.read = required();
    notes.toPlain({ id: 'a', done: true });
    seen.shown = required();
    await db.close();
    console.log(JSON.stringify(seen));`);
  expect(found).toEqual({
    imported: [],
    read: [],
    shown: ['class-transformer'],
  });
});

it('metadata of classes is shared with the copy of reflect-metadata that a program loads after it', () => {
  const found = told(`
    createRequire(${PACKAGE})('reflect-metadata');
    class Note {}
    rowan.Table({ name: 'notes', families: { d: {} } })(Note);
    Reflect.defineMetadata('own', 1, Note);
    console.log(JSON.stringify([Reflect.getOwnMetadata('own', Note), Reflect.getOwnMetadataKeys(Note).includes('rowan:declaration')]));`);
  expect(found).toEqual([1, true]);
});

const DECLARED = `
  import { boolean, defineEntity, defineTable, part, text } from ${PACKAGE};
  export const Note = defineEntity({
    name: 'Note',
    table: defineTable({ name: 'notes', families: { d: {} } }),
    key: [part('id', text)],
    columns: (c) => ({ done: c.column('d:d', boolean) }),
  });`;

/** The files of the package, and the packages, that a program loads; what it prints stands in `out`. */
function loadedBy(...args: string[]): { files: string[]; packages: string[]; out: string } {
  const coverage = mkdtempSync(join(folder, 'coverage-'));
  const out = execFileSync(process.execPath, args, {
    encoding: 'utf8',
    cwd: folder,
    env: { ...process.env, NODE_V8_COVERAGE: coverage },
  });
  const [name] = readdirSync(coverage);
  const { result } = JSON.parse(readFileSync(join(coverage, name!), 'utf8')) as {
    result: readonly { readonly url: string }[];
  };
  const paths = result.filter(({ url }) => url.startsWith('file:')).map(({ url }) => fileURLToPath(url));
  const own = paths
    .filter((path) => path.startsWith(DIST))
    .map((path) => path.slice(DIST.length, -'.js'.length));
  const others = paths
    .filter((path) => path.includes('/node_modules/'))
    .map((path) => path.split('/node_modules/').at(-1)!.split('/')[0]!);
  return { files: own.sort(), packages: [...new Set(others)].sort(), out };
}

it('loads what is used: declarations, an opened store, and each command by itself', () => {
  const module = join(folder, 'notes.mjs');
  writeFileSync(module, DECLARED);
  const program = join(folder, 'program.mjs');
  writeFileSync(
    program,
    `import { open } from ${PACKAGE};
    import { Note } from './notes.mjs';
    const db = await open({ path: 'notes', entities: [Note] });
    const notes = db.repository(Note);
    await notes.put({ id: 'a', done: true });
    const done = (await notes.get({ id: 'a' })).done;
    const builtins = ['worker_threads', 'http', 'tls'].filter((name) => process.moduleLoadList.includes('NativeModule ' + name));
    console.log(JSON.stringify({ done, builtins }));
    await db.close();`,
  );
  const command = join(DIST, 'rowan.js');
  const declarations = ['chunk-database', 'chunk-mapping', 'chunk-table', 'index'];
  const engine = ['chunk-embedded-engine', 'chunk-store-files'];
  const line = ['chunk-command-line', 'chunk-table', 'rowan'];

  expect(loadedBy(module)).toEqual({ files: declarations, packages: [], out: '' });
  const opened = loadedBy(program);
  expect(opened.files).toEqual([...declarations, ...engine].sort());
  expect(opened.packages).toEqual([]);
  expect(JSON.parse(opened.out)).toEqual({ done: true, builtins: [] });

  const help = loadedBy(command, '--help');
  expect(help.files).toEqual(line);
  expect(help.packages).toEqual([]);
  const ddl = loadedBy(command, 'ddl', module);
  expect(ddl.files).toEqual([...new Set([...line, ...declarations, 'chunk-commands-of-modules'])].sort());
  expect(ddl.packages).toEqual([]);
  expect(ddl.out).toContain("create 'notes'");
  const stats = loadedBy(command, 'store', 'stats', 'notes', '--json');
  expect(stats.files).toEqual([...line, ...engine, 'chunk-commands-of-stores'].sort());
  expect(stats.packages).toEqual([]);
  expect(loadedBy(command, 'store', 'stats', 'notes').packages).toContain('cli-table3');
});

it('source maps lead to the sources, also behind the helpers at the head of a chunk', () => {
  const program = join(folder, 'throws.mjs');
  writeFileSync(
    program,
    `import { defineTable, part, rowKey } from ${PACKAGE};
    import { tableDescriptor } from ${JSON.stringify(join(DIST, 'table.js'))};
    for (const wrong of [() => tableDescriptor('no name!', {}), () => rowKey(part('', 1))])
      try { wrong(); } catch (error) { console.log(JSON.stringify(error.stack)); }`,
  );
  const out = execFileSync(process.execPath, ['--enable-source-maps', program], { encoding: 'utf8' });
  const stacks = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as string);
  expect(stacks.length).toBe(2);
  for (const stack of stacks) {
    const [, path, line] = /\((\S*\/src\/\S+\.ts):(\d+):\d+\)/.exec(stack)!;
    expect(readFileSync(path!, 'utf8').split('\n')[Number(line) - 1], stack).toMatch(/throw|new \w+Error/);
  }
});

it('the files of the package import each other in no circle', () => {
  const imports = new Map(
    readdirSync(DIST)
      .filter((name) => name.endsWith('.js'))
      .map((name) => {
        const text = readFileSync(join(DIST, name), 'utf8');
        return [
          name,
          [...text.matchAll(/^(?:import|export)\b[^'"\n]*["']\.\/([^'"]+)["'];?$/gm)].map(
            ([, file]) => file!,
          ),
        ];
      }),
  );
  // Files are taken away once all that they import are: those of a circle, and what needs them, stay.
  for (let size = -1; size !== imports.size; ) {
    size = imports.size;
    for (const [name, files] of imports) if (!files.some((file) => imports.has(file))) imports.delete(name);
  }
  expect([...imports.keys()]).toEqual([]);
});
