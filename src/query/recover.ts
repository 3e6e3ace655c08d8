/** Decoding that may lack something which can be fetched: the schema that wrote an Avro value. */

import type { TableAccess } from './source.js';

/** Loads what a decoding lacked. @throws the error itself when nothing can be loaded that would mend it. */
export async function recoverOrThrow(access: TableAccess, error: unknown): Promise<void> {
  const loading = access.recover?.(error);
  if (loading === undefined) throw error;
  await loading;
}

/** Decodes; what that lacked is loaded, and it is done again. A promise when something had to be loaded. */
export function recovering<T>(access: TableAccess, decode: () => T | Promise<T>): T | Promise<T> {
  try {
    const value = decode();
    return value instanceof Promise ? value.catch((error: unknown) => again(access, decode, error)) : value;
  } catch (error) {
    return again(access, decode, error);
  }
}

async function again<T>(access: TableAccess, decode: () => T | Promise<T>, error: unknown): Promise<T> {
  await recoverOrThrow(access, error);
  return recovering(access, decode);
}
