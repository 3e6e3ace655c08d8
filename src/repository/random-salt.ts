/** Repositories of entities whose salts are drawn at random. */

import type { ReadOptions } from '../query/index.js';
import type { ScatteredClass } from '../schema/entity-types.js';
import type { BatchBuilder } from './batch.js';
import type { EntityReader } from './reader.js';
import type { Repository } from './repository.js';

/**
 * The repository of entities whose salt is drawn at random: they are added and found, and changed as queries find them
 * (`updateAll`, `deleteAll`). A second put of a key makes a second row, so nothing here takes a key for one row; at run time the
 * other methods of a {@link Repository} throw a KeyError.
 */
export interface ScatteredRepository<C extends ScatteredClass>
  extends Pick<
    Repository<C>,
    'entityName' | 'schema' | 'put' | 'putMany' | 'find' | 'toPlain' | 'fromPlain'
  > {
  asOf(time: number | Date): ScatteredReader<C>;
  reading(options: ReadOptions): ScatteredReader<C>;
}

/** The reading half of {@link ScatteredRepository}. */
export interface ScatteredReader<C extends ScatteredClass>
  extends Pick<EntityReader<C>, 'schema' | 'find' | 'toPlain' | 'fromPlain'> {
  asOf(time: number | Date): ScatteredReader<C>;
  reading(options: ReadOptions): ScatteredReader<C>;
}

/** The items of a batch that mean no single row. */
export interface ScatteredBatch<C extends ScatteredClass> {
  put(...args: Parameters<BatchBuilder<C>['put']>): this;
}
