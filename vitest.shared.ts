import { dirname, join, relative, resolve } from 'node:path';
import type { Plugin } from 'vite';

const ROOT = import.meta.dirname;
/** What `npm run build` compiles, fixtures that commands import included; Vite bundles the studio's page. */
const BUILT = /^(src(?!\/studio\/page\/)|decorators|test\/cli\/fixtures|test\/fixtures\/stores\/entities)\b/;
/** They load modules of the package more than once, or others in place of packages. */
const OF_SOURCES = /\/codecs\.test\.ts$/;

/**
 * Tests have the package as it was built, loaded by Node itself: through Vite each name that a module imports is a call of
 * a getter, and a third of the time of all tests went into that.
 */
export const built: Plugin = {
  name: 'rowan-built',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith('.') || OF_SOURCES.test(importer)) return undefined;
    const path = relative(ROOT, resolve(dirname(importer), source));
    if (!BUILT.test(path) || /^(src|decorators)\//.test(relative(ROOT, importer))) return undefined;
    return { id: join(ROOT, 'build', path.replace(/\.ts$/, '.js')), external: true };
  },
};

export const BUILT_BY_NODE = { deps: { external: [/\/build\/(src|decorators|test)\//] } };

/** Suites whose databases are on the engine of the run: embedded, HBase or Bigtable (`test/query/test-database.ts`). */
export const ON_ENGINES: string[] = [
  'decorators/on-the-engine',
  'indexes/indexes',
  'indexes/model',
  'query/entity-query',
  'query/key-ranges',
  'repository/avro',
  'repository/bulk-changes',
  'repository/collection-deletes',
  'repository/concurrent-writes',
  'repository/dictionaries',
  'repository/everyday',
  'repository/disabled-tables',
  'repository/lost-families',
  'repository/markers',
  'repository/plain',
  'repository/properties',
  'repository/repository',
  'repository/soft-delete',
  'repository/writes',
].map((name) => `test/${name}.test.ts`);

/** Reporters of every vitest run: what a person reads, and a report in ROWAN_REPORTS for the sum at the end of `.ci/run`. */
export function reportersOf(suite: string): (string | [string, { outputFile: string }])[] {
  const folder = process.env['ROWAN_REPORTS'];
  return folder === undefined
    ? ['default']
    : ['default', ['json', { outputFile: `${folder}/${suite}.json` }]];
}
