/**
 * class-transformer: rebuilds instances of JSON columns, and shapes `toPlain`. It has to be the copy by which the program's classes
 * were decorated, so it is never part of the published bundle.
 *
 * Loading it takes a third of the CPU time of an opening, so it is loaded on first use. That use is synchronous, and only `require`
 * is: in a program that was bundled together with this package, `require` would find no copy, or another than the bundled one. There
 * it is imported at the opening, which bundlers follow.
 */

import { readFileSync } from 'node:fs';
// Not by name: banners of bundled programs often import `createRequire`.
import * as nodeModule from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

type Transformer = typeof import('class-transformer');

let loaded: Transformer | undefined;
/** Whether it can be loaded on demand; found out once. */
let onDemand: boolean | undefined;

/** Must be awaited before {@link transformer} is called. Does nothing where that can load it on demand. */
export async function prepareTransformer(): Promise<void> {
  onDemand ??= isOwnFile();
  if (!onDemand) loaded ??= await import('class-transformer');
}

export function transformer(): Transformer {
  loaded ??= nodeModule.createRequire(import.meta.url)('class-transformer') as Transformer;
  return loaded;
}

/** Whether this code is a file of the package, and not part of a bundled program. */
function isOwnFile(): boolean {
  // Undefined in a bundle for CommonJS. Webpack puts the address of the original file here; the stack names the file that runs.
  const here = import.meta.url as string | undefined;
  if (here === undefined || new Error().stack?.includes(here) !== true) return false;
  // The published file is one folder below package.json; elsewhere the package is looked for, which takes ten times as long.
  if (nameIn(new URL('../package.json', here)) === 'rowan-orm') return true;
  try {
    const own = nodeModule.createRequire(here).resolve('rowan-orm/package.json');
    return fileURLToPath(here).startsWith(dirname(own));
  } catch {
    return false;
  }
}

/** The name in a package.json; undefined where there is none. */
function nameIn(file: URL): string | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { readonly name?: string }).name;
  } catch {
    return undefined;
  }
}
