/**
 * The one place where functions are made of source text. Hot paths (keys, objects, columns) are generated for each layout
 * and entity, so that every call and property access in them is monomorphic. Where a runtime forbids it (a content
 * security policy, `--disallow-code-generation-from-strings`) the plain form that stands beside each source is taken: the
 * same results, slower.
 */

let allowed: boolean | undefined;

/** Whether this runtime makes functions of text; tried once. */
export function canGenerate(): boolean {
  allowed ??= tryGenerate();
  return allowed;
}

function tryGenerate(): boolean {
  try {
    return (new Function('return true') as () => boolean)();
  } catch {
    return false;
  }
}

/**
 * What the body returns when it is run with the given names bound; where code may not be generated, what `plain` gives.
 * The body is strict code; it must hold nothing of a user's but through `JSON.stringify` or the given values.
 */
export function generated<T>(given: Readonly<Record<string, unknown>>, body: string, plain: () => T): T {
  if (!canGenerate()) return plain();
  const make = new Function(...Object.keys(given), `'use strict';\n${body}`) as (...values: unknown[]) => T;
  return make(...Object.values(given));
}

/** For tests: what is built in `run` is built in the plain form. */
export function withoutGenerating<T>(run: () => T): T {
  const before = allowed;
  allowed = false;
  try {
    return run();
  } finally {
    allowed = before;
  }
}
