import { Watching } from './changes/handle.js';
import { Copying } from './copies/handle.js';
import type { FeatureContext } from './feature.js';
import { Rekeying } from './rekey/rekeying.js';
import { Referencing } from './relations/handle.js';
import { Summarizing } from './summaries/handle.js';

/**
 * The features of an open database, in the order in which their maintainers run: what refuses a change first, then what is set in
 * the row, then what follows from it. A feature is added here, and taken away here with its folder.
 */
export function openFeatures(context: FeatureContext) {
  return {
    references: new Referencing(context),
    copies: new Copying(context),
    summaries: new Summarizing(context),
    changes: new Watching(context),
    rekey: new Rekeying(context),
  };
}

export type Features = ReturnType<typeof openFeatures>;
