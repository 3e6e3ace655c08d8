/** Entities and rows of the model as texts that are compared. */

import { KEPT_VERSIONS } from './declare.js';

/** Versions of a history that are compared: where a life is begun anew, only the newest lives on. */
let newest = KEPT_VERSIONS;

/** Compares so many versions of histories from now on. */
export function compareVersions(most: number): void {
  newest = most;
}

/** An entity, or what a row of the model has, as a text that does not tell absent from undefined. */
export function shown(entity: object): string {
  return Object.entries(entity)
    .map(([name, value]) => [name, plain(name, value)] as const)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(' ');
}

function plain(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  if (value instanceof Date) return String(value.getTime());
  if (value instanceof Map) {
    const entries = [...(value as Map<unknown, unknown>)].map(
      ([key, one]) => `${String(key)}:${String(one)}`,
    );
    return entries.length === 0 ? undefined : `{${entries.sort().join(',')}}`;
  }
  if (name === 'past') {
    const all = (value as (string | { value: string })[]).map((one) =>
      typeof one === 'string' ? one : one.value,
    );
    const texts = all.slice(0, newest);
    return texts.length === 0 ? undefined : JSON.stringify(texts);
  }
  if (name === 'inner') return shown(value) === '' ? undefined : `(${shown(value)})`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
