import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Layers, lowest first. A folder may import from those above it in this list, and from itself; folders of one line not from each other. */
const LAYERS: readonly (readonly string[])[] = [
  ['errors'],
  ['bytes', 'codegen', 'folders', 'threads'],
  ['table'],
  ['compression'],
  ['hadoop'],
  ['store', 'hbase'],
  ['server', 'bigtable'],
  ['key'],
  ['codec'],
  ['decorators'],
  ['schema'],
  ['mapper'],
  ['query'],
  ['repository'],
  ['ddl'],
  ['job', 'shell', 'validation'],
  ['features'],
  ['tools'],
  ['studio'],
  ['database'],
  ['index', 'public'],
  ['cli'],
  ['testing'],
  ['nestjs'],
];

const ENGINES = ['store', 'hbase', 'bigtable'];
/** What the Bigtable engine decides itself, it has decided by the embedded engine: filters, versions, what a change comes to. */
const DECIDES =
  /^src\/store\/(cursor|filter\/|scan\/(region-scanner|row-run|store-read)|commit\/row-operations)/;
const MAY_IMPORT_ENGINES = ['server', 'database', 'cli', 'studio', 'public', 'testing'];

/**
 * Upward imports that are right, each with its reason. Types only: nothing of them is left in the compiled code.
 */
const TYPES_FROM_ABOVE: ReadonlySet<string> = new Set([
  // Declarations are described by the shapes of the schema, which hold no code but constants.
  'decorators -> schema',
]);

/**
 * The layer that a file of a feature belongs to, where it is not `features`: what a feature is stands in one folder, and each
 * file of it may import only what its layer may.
 */
const LAYERS_OF_FEATURES: readonly (readonly [RegExp, string])[] = [
  [/^[^/]+\/(compile|former-places)\.ts$/, 'schema'],
  [/^indexes\/(entry|entity-indexes|query\/.+)\.ts$/, 'query'],
  [/^indexes\/(plan|embedded|marks|remote|eventual)\.ts$/, 'repository'],
  [/^indexes\/(states|ddl)\.ts$/, 'ddl'],
  [/^[^/]+\/command\.ts$/, 'cli'],
];

/** The files that name features. */
const NAME_FEATURES =
  /^src\/(schema\/feature-compilers|query\/feature-planners|ddl\/feature-ddl|features\/[^/]+|database\/(batch|database|schema-tools)|index|cli\/commands)\.ts$/;

/** Which features are built on which. Adding an edge is a decision: every feature can be taken away with those above it. */
const FEATURES_BUILT_ON: readonly string[] = [
  'copies -> indexes',
  'copies -> relations',
  'evolution -> indexes',
  'rekey -> indexes',
  'relations -> indexes',
  'summaries -> indexes',
];

interface Import {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

function sourceFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));
}

/** The layer of a file: `src/store/wal/x.ts` is in `store`, `src/errors.ts` in `errors`. */
function layerOf(file: string): string {
  const [top, next, ...inFeatures] = file.split(/[\\/]/);
  const ofFeature = LAYERS_OF_FEATURES.find(([pattern]) => pattern.test(inFeatures.join('/')));
  if (next === 'features' && ofFeature !== undefined) return ofFeature[1];
  return top === 'decorators' ? 'decorators' : next!.replace(/\.ts$/, '');
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  const found: Import[] = [];
  const pattern =
    /(?:^|\n)\s*(import|export)\s+(type\s)?([^'";]*?from\s*)?'(\.{1,2}\/[^']+)'|import\('(\.{1,2}\/[^']+)'\)/g;
  for (const match of text.matchAll(pattern)) {
    const target = relative(root, resolve(root, dirname(file), (match[4] ?? match[5])!)).replace(
      /\.js$/,
      '.ts',
    );
    if (target.endsWith('package.json')) continue;
    const typeOnly = match[2] !== undefined;
    found.push({ file, from: layerOf(file), to: layerOf(target), target, typeOnly });
  }
  return found;
}

const files = [...sourceFiles('src'), ...sourceFiles('decorators')];
const imports = files.flatMap(importsOf);
const heightOf = (layer: string): number => LAYERS.findIndex((line) => line.includes(layer));

/** Groups of files each of which leads to every other, as sorted lists. */
function cyclesOf(edges: readonly Import[]): string[] {
  const next = new Map<string, string[]>();
  for (const { file, target } of edges) next.set(file, [...(next.get(file) ?? []), target]);
  const reach = (from: string): Set<string> => {
    const seen = new Set<string>();
    const open = [...(next.get(from) ?? [])];
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      if (seen.has(file)) continue;
      seen.add(file);
      open.push(...(next.get(file) ?? []));
    }
    return seen;
  };
  const reached = new Map([...next.keys()].map((file) => [file, reach(file)]));
  const groups = new Set<string>();
  for (const [file, seen] of reached) {
    if (!seen.has(file)) continue;
    groups.add(
      [...seen]
        .filter((other) => reached.get(other)?.has(file))
        .sort()
        .join(', '),
    );
  }
  return [...groups];
}

describe('the layers', () => {
  test('every file is in a known layer', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter((file) => heightOf(layerOf(file)) < 0)).toEqual([]);
  });

  test('imports point downward only', () => {
    const upward = imports.filter(({ from, to, typeOnly }) => {
      if (from === to || heightOf(to) < heightOf(from)) return false;
      return !(typeOnly && TYPES_FROM_ABOVE.has(`${from} -> ${to}`));
    });
    expect(upward.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
  });

  test('no files need each other, not for types either: what does is one thing, or the lower asks for less', () => {
    expect(cyclesOf(imports)).toEqual([]);
  });

  test('only the composition root and the programs import an engine', () => {
    const wrong = imports.filter(
      ({ from, to, target, typeOnly }) =>
        ENGINES.includes(to) &&
        from !== to &&
        !(from === 'bigtable' && DECIDES.test(target)) &&
        !MAY_IMPORT_ENGINES.includes(from) &&
        !(typeOnly && from === 'index'),
    );
    expect(wrong.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
  });

  test('features are named in their lists only', () => {
    const featureOf = (file: string): string | undefined => /^src\/features\/([^/]+)\//.exec(file)?.[1];
    const named = imports.filter(({ file, target }) => {
      const feature = featureOf(target);
      return feature !== undefined && featureOf(file) === undefined && !NAME_FEATURES.test(file);
    });
    expect(named.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
  });

  test('a feature imports another only from those that it is built on', () => {
    const featureOf = (file: string): string | undefined => /^src\/features\/([^/]+)\//.exec(file)?.[1];
    const edges = new Set<string>();
    for (const { file, target } of imports) {
      const [from, to] = [featureOf(file), featureOf(target)];
      if (from !== undefined && to !== undefined && from !== to) edges.add(`${from} -> ${to}`);
    }
    expect([...edges].sort()).toEqual(FEATURES_BUILT_ON);
  });

  test('no file is a default export; few are longer than 500 lines, and none than 600', () => {
    const texts = files.map((file) => [file, readFileSync(join(root, file), 'utf8')] as const);
    expect(texts.filter(([, text]) => /^export default/m.test(text)).map(([file]) => file)).toEqual([]);
    const longerThan = (lines: number): string[] =>
      texts
        .map(([file, text]) => [file, text.split('\n').length - 1] as const)
        .filter(([, length]) => length > lines)
        .map(([file, length]) => `${file}: ${length}`);
    expect(longerThan(600)).toEqual([]);
    expect(longerThan(500).length).toBeLessThanOrEqual(6);
  });

  test('behind the head of a file, a doc comment stands at the declaration that it describes', () => {
    const first = /^(export )?(abstract |async )*(class|const|let|function|interface|type) /m;
    const alone = files.filter((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return /^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n\n/m.test(text.slice(text.search(first)));
    });
    expect(alone).toEqual([]);
  });
});
