/** Decoding that may lack something which can be fetched: the schema that wrote an Avro value, the text of an id. */

import { MissingTextError } from '../key/index.js';
import type { TableAccess } from './access.js';

/** Loads what a decoding lacked. @throws the error itself when nothing can be loaded that would mend it. */
async function recoverOrThrow(access: TableAccess, error: unknown): Promise<void> {
  if (error instanceof MissingTextError) {
    await error.dictionary.values([error.id]);
    return;
  }
  const loading = access.recover?.(error);
  if (loading === undefined) throw error;
  await loading;
}

/** Decodes; what that lacked is loaded, and it is done again. A promise when something had to be loaded. */
export function recovering<T>(access: TableAccess, decode: () => T | Promise<T>): T | Promise<T> {
  try {
    const value = decode();
    return value instanceof Promise
      ? value.catch((error: unknown) => recoverAndRetry(access, error, decode))
      : value;
  } catch (error) {
    return recoverAndRetry(access, error, decode);
  }
}

/** Loads what failed for `error`, then decodes again. @throws the error itself when nothing mends it. */
export async function recoverAndRetry<T>(
  access: TableAccess,
  error: unknown,
  decode: () => T | Promise<T>,
): Promise<T> {
  await recoverOrThrow(access, error);
  return recovering(access, decode);
}
