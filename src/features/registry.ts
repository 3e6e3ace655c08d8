import { Watching } from './changes/handle.js';
import { Copying } from './copies/handle.js';
import type { FeatureContext } from './feature.js';
import { Rekeying } from './rekey/rekeying.js';
import { Referencing } from './relations/handle.js';
import { Summarizing } from './summaries/handle.js';

/**
 * Creates the features of an open database, in the order in which their maintainers run: first those that refuse
 * changes, then those that set columns of the row, then those that write other rows. To add or remove a feature, edit
 * this list.
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
