import type { EntitySchema } from '../schema/types.js';
import type { Engine } from '../table/index.js';
import { ChangesFeature } from './changes/handle.js';
import { ComputedFeature } from './computed/handle.js';
import { CopiesFeature } from './copies/handle.js';
import { EvolutionFeature } from './evolution/handle.js';
import { MovedTables } from './evolution/moves.js';
import type { FeatureContext, RowMigrator, TableViews } from './feature.js';
import { IndexesFeature } from './indexes/handle.js';
import { MutualFeature } from './mutual/handle.js';
import { RekeyFeature } from './rekey/rekeying.js';
import { RelationsFeature } from './relations/handle.js';
import { SummariesFeature } from './summaries/handle.js';

/**
 * Creates the features of an open database, in the order in which their maintainers run: first indexes, then those that refuse
 * changes, then those that set columns of the row, then those that write other rows. To add or remove a feature, edit
 * this list.
 */
export function openFeatures(context: FeatureContext) {
  const indexes = new IndexesFeature(context);
  return {
    indexes,
    references: new RelationsFeature(context, indexes),
    copies: new CopiesFeature(context, indexes),
    computed: new ComputedFeature(context),
    mutual: new MutualFeature(context),
    summaries: new SummariesFeature(context, indexes),
    changes: new ChangesFeature(context),
    rekey: new RekeyFeature(context, indexes),
    evolution: new EvolutionFeature(context),
  };
}

export type Features = ReturnType<typeof openFeatures>;

/** Creates the views through which all layers above the engine use its tables; each one is over those before it. */
export function openViews(): readonly TableViews[] {
  return [new MovedTables()];
}

/**
 * Loads the functions that make a migrator for the rows of an entity, for tools that write below repositories. Undefined:
 * its rows have the declared form.
 */
export const ROW_MIGRATORS: readonly (() => Promise<
  (engine: Engine, entity: EntitySchema) => RowMigrator | undefined
>)[] = [async () => (await import('./evolution/jobs.js')).columnMigratorOf];
