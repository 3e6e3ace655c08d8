/**
 * class-transformer, loaded when a database is opened and not when entities are declared. It has to be the copy that the
 * program's classes were decorated by, so it is never part of the published bundle.
 */

// Not by name: banners of bundled programs often import `createRequire`.
import * as nodeModule from 'node:module';

type Transformer = typeof import('class-transformer');

let loaded: Transformer | undefined;

/** Loads it by `import`, which bundlers of programs follow. */
export async function loadTransformer(): Promise<void> {
  loaded ??= await import('class-transformer');
}

/** For schemas that are used without a database it is loaded here. */
export function transformer(): Transformer {
  loaded ??= nodeModule.createRequire(import.meta.url)('class-transformer') as Transformer;
  return loaded;
}
