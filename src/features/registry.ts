import { ChangesFeature } from './changes/handle.js';
import { CopiesFeature } from './copies/handle.js';
import type { FeatureContext } from './feature.js';
import { RekeyFeature } from './rekey/rekeying.js';
import { RelationsFeature } from './relations/handle.js';
import { SummariesFeature } from './summaries/handle.js';

/**
 * Creates the features of an open database, in the order in which their maintainers run: first those that refuse
 * changes, then those that set columns of the row, then those that write other rows. To add or remove a feature, edit
 * this list.
 */
export function openFeatures(context: FeatureContext) {
  return {
    references: new RelationsFeature(context),
    copies: new CopiesFeature(context),
    summaries: new SummariesFeature(context),
    changes: new ChangesFeature(context),
    rekey: new RekeyFeature(context),
  };
}

export type Features = ReturnType<typeof openFeatures>;
