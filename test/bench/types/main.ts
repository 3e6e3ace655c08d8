/**
 * `npm run bench:types`: what the types cost the compiler. 100 entities of 12 properties with five queries of each, as classes and by
 * `defineEntity`, against the same in Drizzle; each project is one file, compiled by a `tsc` of its own that writes nothing. The
 * compilers take turns in every round; the figure is the median. An import alone is compiled too, since every project pays it once.
 *
 * `--rounds N` (default 5), `--json FILE`, `--merge FILE`.
 */

import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, consumerFolder, ROOT, STRICT, tsc, write } from '../../types/compiler.js';
import { type BenchRow, childTime, median, report, rowLine, toRow } from '../harness.js';
import { drizzleProject, rowanProject } from './projects.js';

const FOLDER = 'bench';
const option = process.argv.indexOf('--rounds');
const rounds = option < 0 ? 5 : Number(process.argv[option + 1]);

interface Compiled {
  readonly seconds: number;
  readonly processor: number;
  readonly instantiations: number;
}

/** Lets the project of Drizzle find it, where `bench:orm` has it. */
function linkDrizzle(): void {
  const modules = join(CACHE, FOLDER, 'node_modules');
  mkdirSync(modules, { recursive: true });
  const link = join(modules, 'drizzle-orm');
  if (!existsSync(link)) symlinkSync(join(ROOT, 'test/bench/orm/node_modules/drizzle-orm'), link);
}

async function compile(file: string): Promise<Compiled> {
  const begun = performance.now();
  const before = childTime();
  const { ok, output } = await tsc(...STRICT, '--extendedDiagnostics', file);
  const seconds = (performance.now() - begun) / 1000;
  if (!ok) throw new Error(`${file} is refused:\n${output}`);
  const instantiations = Number(/Instantiations:\s+(\d+)/.exec(output)![1]);
  return { seconds, processor: (childTime() - before) / 1000, instantiations };
}

function projects(): Record<string, string> {
  return {
    'rowan import': "import { Entity } from 'rowan-orm';\nexport const it = Entity;\n",
    'drizzle import':
      "import { eq } from 'drizzle-orm';\nimport { sqliteTable } from 'drizzle-orm/sqlite-core';\nexport const it = [eq, sqliteTable];\n",
    classes: rowanProject('classes'),
    defineEntity: rowanProject('defineEntity'),
    drizzle: drizzleProject(),
  };
}

consumerFolder(FOLDER);
linkDrizzle();
const files = Object.entries(projects()).map(
  ([name, source]) => [name, write(`${FOLDER}/${name.replace(' ', '-')}.ts`, source)] as const,
);
const runs = new Map<string, Compiled[]>(files.map(([name]) => [name, []]));
for (let round = -1; round < rounds; round++) {
  for (const [name, file] of round % 2 === 0 ? files : files.toReversed()) {
    const compiled = await compile(file);
    if (round >= 0) runs.get(name)!.push(compiled);
  }
}

/** Compilations a second: higher is better, as in every bench. */
function rateOf(name: string, seconds: (of: Compiled) => number): number {
  return 1 / median(runs.get(name)!.map(seconds));
}

const rows: BenchRow[] = (
  [
    ['500 queries of 100 classes', 'classes', 'drizzle'],
    ['500 queries of 100 entities by defineEntity', 'defineEntity', 'drizzle'],
    ['an import alone', 'rowan import', 'drizzle import'],
  ] as const
).map(([title, ours, theirs]) => {
  const rates = (seconds: (of: Compiled) => number): Record<string, number> => ({
    rowan: rateOf(ours, seconds),
    drizzle: rateOf(theirs, seconds),
  });
  const row = toRow(
    title,
    'compilations/s',
    rates(({ seconds }) => seconds),
  );
  return { ...row, processor: rates(({ processor }) => processor) };
});
for (const row of rows) console.log(rowLine(row));
for (const [name, [first]] of runs) console.log(`${name}: ${first!.instantiations} instantiations`);
report(rows);
