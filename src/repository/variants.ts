/** What takes the place of a repository: for entities with random salts, and for one class in several tables. */

import { QueryError } from '../errors.js';
import { checkFindOptions, type FindOptions, type ReadOptions, TablesQuery } from '../query/index.js';
import type { CheckedPrefix, KeyedClass, KeyQuery, ScatteredClass } from '../schema/entity-types.js';
import { isList } from '../table/checks.js';
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

/** Finds the entities of one class in several tables (`Database.readerIn`). */
export class TablesReader<C extends KeyedClass> {
  private constructor(private readonly repositories: readonly Repository<C>[]) {}

  /** @throws QueryError when no table is given, or one twice; errors of `open`. */
  static async over<C extends KeyedClass>(
    names: readonly string[],
    open: (name: string) => Promise<Repository<C>>,
  ): Promise<TablesReader<C>> {
    if (!isList(names) || names.length === 0 || new Set(names).size !== names.length) {
      throw new QueryError(
        "readerIn takes the names of one or more tables, each once: ['events_1', 'events_2'].",
      );
    }
    const repositories: Repository<C>[] = [];
    for (const name of names) repositories.push(await open(name));
    return new TablesReader(repositories);
  }

  /** As `find` of a repository, over all of the tables. */
  find<const Q extends KeyQuery<C>>(
    prefix: Q & CheckedPrefix<C, Q>,
    options: FindOptions = {},
  ): TablesQuery<C> {
    checkFindOptions(options);
    return new TablesQuery<C>(this.repositories.map((repository) => repository.find<Q>(prefix, options)));
  }
}
