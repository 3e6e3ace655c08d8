/** The types of repositories of entities with random salts. */

import type { ReadOptions } from '../query/index.js';
import type { ScatteredClass } from '../schema/entity-types.js';
import type { BatchBuilder } from './batch.js';
import type { EntityReader } from './reader.js';
import type { Repository } from './repository.js';

/**
 * The repository of entities with a random salt. They are inserted, found, and changed by queries (`updateAll`,
 * `deleteAll`). A second put of a key creates a second row, so no method identifies one row by a key; at run time the
 * other methods of {@link Repository} throw a KeyError.
 */
export interface ScatteredRepository<C extends ScatteredClass>
  extends Pick<
    Repository<C>,
    'entityName' | 'schema' | 'put' | 'putMany' | 'find' | 'where' | 'findOne' | 'toPlain' | 'fromPlain'
  > {
  asOf(time: number | Date): ScatteredReader<C>;
  reading(options: ReadOptions): ScatteredReader<C>;
}

/** The read methods of {@link ScatteredRepository}. */
export interface ScatteredReader<C extends ScatteredClass>
  extends Pick<EntityReader<C>, 'schema' | 'find' | 'where' | 'findOne' | 'toPlain' | 'fromPlain'> {
  asOf(time: number | Date): ScatteredReader<C>;
  reading(options: ReadOptions): ScatteredReader<C>;
}

/** The items of a batch that identify no single row. */
export interface ScatteredBatch<C extends ScatteredClass> {
  put(...args: Parameters<BatchBuilder<C>['put']>): this;
}
