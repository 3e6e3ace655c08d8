/** Schemas as a database works with them: keys take and give texts where they keep ids of them. */

import { dictionaryTableDescriptor, type KeyDictionary, TableDictionary } from '../key/index.js';
import { bindDictionaries } from '../mapper/index.js';
import type { Schema } from '../schema/index.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';
import type { Engine } from '../table/index.js';

export class BoundSchemas {
  private readonly bound = new Map<EntityClass, EntitySchema>();
  private readonly dictionaries = new Map<string, KeyDictionary>();

  constructor(
    private readonly engine: Engine,
    private readonly declared: () => Schema,
  ) {}

  /** @throws SchemaError on a class that is not declared. */
  of(target: EntityClass): EntitySchema {
    let bound = this.bound.get(target);
    if (bound === undefined) {
      bound = bindDictionaries(this.declared().entity(target), (name) => this.dictionary(name));
      this.bound.set(target, bound);
    }
    return bound;
  }

  dictionary(name: string): KeyDictionary {
    let dictionary = this.dictionaries.get(name);
    if (dictionary === undefined) {
      dictionary = new TableDictionary(name, this.engine.table(dictionaryTableDescriptor().name));
      this.dictionaries.set(name, dictionary);
    }
    return dictionary;
  }

  /** Others are declared. */
  clear(): void {
    this.bound.clear();
  }
}
