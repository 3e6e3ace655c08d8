/** The package's declaration files, which examples, misuses and listings are compiled against: what users compile against. */

import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Of the studio's page, which is bundled and declares nothing. */
const PAGE = join('studio', 'page');
const CONFIGS = ['tsconfig.json', 'tsconfig.build.json', 'package.json'];

/** Each worker of a test run has its own, for they run at the same time. */
const OWN = join(ROOT, `test/types/.cache/declarations-${process.env['VITEST_POOL_ID'] ?? 'none'}`);

function modified(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Whether `folder` has a declaration file of every module of the source, none older than its module or the compiler's options. */
function isFresh(folder: string): boolean {
  const options = Math.max(...CONFIGS.map((name) => modified(join(ROOT, name))));
  return ['src', 'decorators'].every((part) =>
    readdirSync(join(ROOT, part), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.startsWith(PAGE))
      .every((path) => {
        const made = modified(join(folder, part, path.replace(/\.ts$/, '.d.ts')));
        return made >= options && made >= modified(join(ROOT, part, path));
      }),
  );
}

/**
 * The folder with `src` and `decorators` as declaration files of the source as it is: `build` where the build is not older,
 * as under `npm test`; else one for which they are made now. @throws what the compiler says when the source does not compile.
 */
export function declarations(): string {
  const found = [join(ROOT, 'build'), OWN].find(isFresh);
  if (found !== undefined) return found;
  execFileSync(
    process.execPath,
    [
      join(ROOT, 'node_modules/typescript/bin/tsc'),
      ...['-p', 'tsconfig.build.json', '--outDir', OWN, '--emitDeclarationOnly'],
    ],
    { cwd: ROOT },
  );
  return OWN;
}
