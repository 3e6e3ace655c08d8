/** The files with which threads of the package begin. */

import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * The file of a thread: the published one, which sources and their tests have in `dist`; where the package is bundled into a
 * program, one of that name beside the bundle or the program. Undefined where there is none.
 */
export function threadFile(name: string): URL | undefined {
  const names = [`${name}.js`, `${name}.mjs`, `${name}.cjs`];
  return folders()
    .flatMap((folder) => names.map((file) => new URL(file, folder)))
    .find((url) => existsSync(fileURLToPath(url)));
}

function folders(): string[] {
  // Undefined in a bundle for CommonJS.
  const here = import.meta.url as string | undefined;
  const source = /^(.*?)(?:\/build)?\/src\/threads\.[jt]s$/.exec(here ?? '');
  if (source !== null) return [`${source[1]}/dist/`];
  const program = process.argv[1] === undefined ? [] : [pathToFileURL(process.argv[1]).href];
  return here === undefined ? program : [here, ...program];
}
