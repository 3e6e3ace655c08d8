import { QueryError } from '../errors.js';
import { checkFindOptions, type FindOptions, TablesQuery } from '../query/index.js';
import type { CheckedPrefix, KeyedClass, KeyQuery } from '../schema/entity-types.js';
import { isList } from '../table/checks.js';
import type { Repository } from './repository.js';

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
