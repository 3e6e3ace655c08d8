/**
 * Makes `dist`, what is published, of the sources and of the declarations that the compiler left in `build`
 * (`npm run build`): an entry for each subpath of package.json, the command, the files with which threads begin, and chunks
 * that these share. docs/bundling.md says why it is done so.
 */

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { build } from 'vite';
import { bundleDeclarations } from './declarations.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const DIST = join(ROOT, 'dist');

/** Subpaths of the package, by the names of their files. */
const SUBPATHS = JSON.parse(readFileSync(join(ROOT, 'packaging/entries.json'), 'utf8'));

/** The command, and the files with which threads begin: `threadFile` (src/threads.ts) finds these by name. */
const PROGRAMS = {
  rowan: 'src/cli/main.ts',
  'rowan-worker': 'src/store/background/worker.ts',
  'rowan-parquet-thread': 'src/job/files/parquet-thread.ts',
  'rowan-job-thread': 'src/cli/job-worker.ts',
};

const PROGRAM_FILES = new Set(Object.values(PROGRAMS).map((path) => join(ROOT, path)));

const inFolder = (folder, entries, rename = (path) => path) =>
  Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, join(ROOT, folder, rename(path))]));

/** Packages and modules of Node: whatever is neither a path, nor a helper of compiled syntax, nor {@link PUT_IN}. */
const external = (id, importer) =>
  !/^([./\0]|@oxc-project\/runtime)/.test(id) && !PUT_IN.has(id) && !importer?.includes('/node_modules/');

/** What sources load by `createRequire` where it is first needed. Bundlers of programs do not follow that, so it is put in. */
const REQUIRED = ['avsc/lib/types.js', 'murmurhash3js'];

/** Besides, what each import or each command takes: Node would start its reader of CommonJS for these files. */
const PUT_IN = new Set([
  ...REQUIRED,
  'reflect-metadata/lite',
  'commander',
  // Of `rowan diagram --svg`, whose chunk nothing else loads.
  '@dagrejs/dagre',
  // Of the studio, whose chunk no other command loads.
  '@hono/node-server',
  'hono',
  'hono/body-limit',
  'hono/cookie',
]);

/** Of these packages, whose licenses are published beside the code. */
const PACKAGES_WITHIN = [
  '@dagrejs/dagre',
  '@hono/node-server',
  '@tanstack/table-core',
  '@tanstack/virtual-core',
  'avsc',
  'commander',
  'hono',
  'murmurhash3js',
  'preact',
  'reflect-metadata',
  'uplot',
];

const REQUIRE = /nodeModule\.createRequire\(import\.meta\.url\)\('([^']+)'\)/;

/** Puts {@link REQUIRED} in, as functions that are called there; Node's modules that packages require are loaded there, too. */
const required = {
  name: 'required',
  transform: {
    filter: { code: REQUIRE },
    handler(code) {
      const put = (call, id) => (REQUIRED.includes(id) ? `require('${id}')` : call);
      return { code: code.replace(REQUIRE, put), map: null };
    },
  },
  resolveId(id, importer) {
    const name = id.replace(/^node:/, '');
    const wanted = builtinModules.includes(name) && importer?.includes('/node_modules/');
    return wanted ? `\0node:${name}` : undefined;
  },
  load(id) {
    const name = /^\0node:(.*)$/.exec(id)?.[1];
    return name === undefined ? undefined : `module.exports = process.getBuiltinModule('node:${name}');`;
  },
};

/** What is loaded together stands together: by use alone there would be a hundred small files. The first that fits counts. */
const GROUPS = [
  // What of these an opened database or the command needs at once is left to those.
  {
    name: 'work',
    test: /\/src\/(job\/(?!pipeline\/(pipeline|lookup)|row-cells|files\/parquet-thread)|hadoop\/|tools\/|store\/archive\/|features\/\w+\/jobs(\.ts|\/(?!dual-writes|row-(mapping|effects)))|ddl\/(apply\/(apply|history)|migrate\/|introspect\/(?!source|guess)))/,
  },
  { name: 'pictures', test: /@dagrejs|\/src\/cli\/diagram-svg/ },
  { name: 'bigtable-engine', test: /\/src\/bigtable\/(?!options|index)/ },
  { name: 'commands-of-modules', test: /\/src\/cli\/(commands\/(ddl|lint|key|hotspots)|load-entities)/ },
  // What threads of the store and the Bigtable engine need of it.
  {
    name: 'store-files',
    test: /\/src\/store\/(fs|encoding|cache|row-cache|filter|match|cursor|file|scan|memstore\/(arena|cell-list|cell-order|leaf|newest-cells|row-index|memstore-cursor)|parallel\/(packed-groups|packed-puts|packed-rows|scan-run)|commit\/row-operations|background\/(job-run|drop-watch))/,
  },
  // The helper of `using`, which commands alone have, too: all of these load the engine.
  {
    name: 'embedded-engine',
    test: /\/src\/store\/(?!repair\/(?!verify)|background\/worker)|oxc-project.*\/usingCtx/,
  },
  {
    name: 'hbase-wire',
    test: /\/src\/hbase\/(wire\/(proto|schema|messages-|filter-codec|cell-codec)|security\/(sasl|digest|delegation)|rpc\/(errors|denials|connection-settings|frames)|region\/region\.|admin\/table-codec)/,
  },
  { name: 'commands-of-stores', test: /\/src\/(cli\/commands\/store[.-]|store\/repair\/(?!verify))/ },
  {
    // With Hono, on which the studio's server stands.
    name: 'commands-of-tables',
    test: /\/node_modules\/@?hono\/|\/src\/(shell\/|studio\/|cli\/(commands\/|codegen\/|job-(?!worker\.))|features\/\w+\/command\.)/,
  },
  {
    name: 'command-line',
    test: /\/src\/cli\/(program|context|signals|databases|encryption|commands\.)|node_modules\/commander/,
  },
  { name: 'table', test: /\/src\/(errors|bytes|table|threads|folders|codegen|compression)|\0node:/ },
  {
    name: 'mapping',
    test: /\/decorators\/|\/src\/(key|codec|schema|mapper|features\/\w+\/(compile|former-places)\.)|node_modules/,
  },
  {
    name: 'database',
    test: /\/src\/(query|repository|database|features|ddl|job\/(pipeline|row-cells)|bigtable\/options)/,
  },
].map((group, at) => ({ ...group, priority: 100 - at }));

async function bundleCode() {
  const bundle = await rolldown({
    input: inFolder('.', { ...SUBPATHS, ...PROGRAMS }),
    external,
    platform: 'node',
    // Modules declare, but for those that polyfill or are programs: of the others only what is used is loaded.
    treeshake: {
      moduleSideEffects: (id) => /reflect-metadata|\/metadata\.ts$/.test(id) || PROGRAM_FILES.has(id),
    },
    preserveEntrySignatures: 'allow-extension',
    plugins: [required],
    tsconfig: join(ROOT, 'tsconfig.json'),
    transform: { target: 'es2022' },
  });
  await bundle.write({
    dir: DIST,
    format: 'esm',
    sourcemap: true,
    comments: false,
    keepNames: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunk-[name].js',
    minifyInternalExports: false,
    codeSplitting: { includeDependenciesRecursively: false, groups: GROUPS },
  });
  await bundle.close();
}

/** The page of the studio: one document, one script with all that it needs, one style sheet; no command but its own reads them. */
async function bundleStudio() {
  const page = join(ROOT, 'src/studio/page');
  await build({
    root: page,
    configFile: false,
    logLevel: 'warn',
    build: {
      outDir: join(DIST, 'studio'),
      target: 'es2023',
      modulePreload: false,
      rolldownOptions: {
        input: join(page, 'studio.html'),
        // The server sends files of these names only.
        output: { entryFileNames: 'studio.js', assetFileNames: 'studio[extname]' },
      },
    },
  });
}

/** A module that is imported where it is first used is a file of its own that names it in its chunk: such an import goes there. */
function leaveOutNames() {
  const files = readdirSync(DIST).filter((name) => name.endsWith('.js'));
  const texts = new Map(files.map((name) => [name, readFileSync(join(DIST, name), 'utf8')]));
  const chunks = new Map();
  for (const [name, text] of texts) {
    const chunk = /^export \{ [\w$, ]+ \} from "\.\/(chunk-[\w-]+\.js)";\n*$/.exec(text)?.[1];
    if (name.startsWith('chunk-') && chunk !== undefined && !/ as /.test(text)) chunks.set(name, chunk);
  }
  for (const [name, text] of texts) {
    if (chunks.has(name)) rmSync(join(DIST, name));
    else {
      const direct = (_import, file) => `import("./${chunks.get(file) ?? file}")`;
      writeFileSync(join(DIST, name), text.replace(/import\("\.\/(chunk-[\w-]+\.js)"\)/g, direct));
    }
  }
}

/** The bundler's helpers of syntax stand at the head of the chunk that everything loads: a file less to find and to read. */
function putHelpersInTable() {
  const [helpers, table] = ['chunk-rolldown-runtime.js', 'chunk-table.js'];
  const text = readFileSync(join(DIST, helpers), 'utf8');
  for (const name of readdirSync(DIST).filter((file) => file.endsWith('.js') && file !== helpers)) {
    const path = join(DIST, name);
    const own = readFileSync(path, 'utf8');
    if (name !== table) writeFileSync(path, own.replace(`"./${helpers}"`, `"./${table}"`));
    // The line stays, empty, so that the map differs by whole lines.
    else writeFileSync(path, text + own.replace(/^import .*"\.\/chunk-rolldown-runtime\.js";$/m, ''));
  }
  const path = join(DIST, `${table}.map`);
  const map = JSON.parse(readFileSync(path, 'utf8'));
  const lines = ';'.repeat(text.split('\n').length - 1);
  writeFileSync(path, JSON.stringify({ ...map, mappings: lines + map.mappings }));
  rmSync(join(DIST, helpers));
}

/** Maps have the text of our sources, and of packages only their names. */
function leaveOutPackages() {
  for (const name of readdirSync(DIST).filter((file) => file.endsWith('.js.map'))) {
    const map = JSON.parse(readFileSync(join(DIST, name), 'utf8'));
    const texts = map.sourcesContent.map((text, at) => (/node_modules/.test(map.sources[at]) ? null : text));
    writeFileSync(join(DIST, name), JSON.stringify({ ...map, sourcesContent: texts }));
  }
}

/** A small module has its map in it, in place of a file: the package has few files. */
function putInSmallMaps() {
  for (const name of readdirSync(DIST).filter((file) => file.endsWith('.js.map'))) {
    const map = readFileSync(join(DIST, name));
    if (map.length > 98_304) continue;
    const file = join(DIST, name.replace(/\.map$/, ''));
    const url = `data:application/json;base64,${map.toString('base64')}`;
    writeFileSync(file, readFileSync(file, 'utf8').replace(/(?<=^\/\/# sourceMappingURL=).*$/m, url));
    rmSync(join(DIST, name));
  }
}

rmSync(DIST, { recursive: true, force: true });
const declarations = {
  input: inFolder('build', SUBPATHS, (path) => path.replace(/\.ts$/, '.d.ts')),
  isExternal: (id, importer) => PUT_IN.has(id) || external(id, importer),
  folder: join(ROOT, 'build'),
  dist: DIST,
};
await Promise.all([bundleCode(), bundleDeclarations(declarations), bundleStudio()]);
leaveOutNames();
putHelpersInTable();
leaveOutPackages();
putInSmallMaps();
const licenses = PACKAGES_WITHIN.map((name) => {
  const texts = ['LICENSE', 'CopyrightNotice.txt']
    .map((file) => join(ROOT, 'node_modules', name, file))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8').trim());
  return [`${name} is in these files under this license:`, ...texts].join('\n\n');
});
writeFileSync(join(DIST, 'LICENSES.txt'), `${licenses.join('\n\n\n')}\n`);
