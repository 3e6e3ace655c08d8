/**
 * The only place where functions are generated from source text. Hot paths (keys, objects, columns) are generated for
 * each layout and entity, so that every call and property access in them is monomorphic. Where a runtime forbids code
 * generation (a content security policy, `--disallow-code-generation-from-strings`), the plain implementation beside
 * each generated one is used: same results, slower.
 */

let allowed: boolean | undefined;

/** Whether this runtime allows code generation; tested once. */
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
 * Runs the generated body with the given names bound and returns its result; where code generation is forbidden,
 * returns the result of `plain`. The body is strict code. User data may enter it only through `JSON.stringify` or the
 * given values.
 */
export function generated<T>(given: Readonly<Record<string, unknown>>, body: string, plain: () => T): T {
  if (!canGenerate()) return plain();
  const make = new Function(...Object.keys(given), `'use strict';\n${body}`) as (...values: unknown[]) => T;
  return make(...Object.values(given));
}

/** For tests: `run` with code generation off, so that it builds the plain implementations. */
export function withoutGenerating<T>(run: () => T): T {
  const before = allowed;
  allowed = false;
  try {
    return run();
  } finally {
    allowed = before;
  }
}
