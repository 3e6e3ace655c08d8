/** Declarations as they are to be read over tables that were written before. */

import { compileSchema } from '../mapper/index.js';
import type { Schema } from '../schema/index.js';
import type { TableDescriptor } from '../table/index.js';
import { storedMarkers } from './table-stamp.js';

/** The same schema, with markers in the families that they were written to. */
export function adoptMarkers(declared: Schema, live: ReadonlyMap<string, TableDescriptor>): Schema {
  const markers = storedMarkers(declared.entities, live);
  if (markers.size === 0) return declared;
  return compileSchema(
    [...declared.entities, ...declared.retired].map(({ target }) => target),
    markers,
    declared.subscribers,
  );
}
