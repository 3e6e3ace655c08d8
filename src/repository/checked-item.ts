import type { Input, KeyedClass, KeyOf, Patch } from '../schema/entity-types.js';
import type { EntitySchema } from '../schema/types.js';
import type { CompileItem } from './batch-item.js';
import { checkedPut } from './checked-put.js';
import type { WriteOptions } from './options.js';
import { loadRowOfKey } from './row-access.js';
import type { Condition, WriteCompiler } from './write-compiler.js';

/** The second half of `batch.check(key, condition)`: what is to be done if the condition holds. */
export class CheckedItem<C extends KeyedClass, B> {
  constructor(
    private readonly schema: EntitySchema,
    private readonly compiler: WriteCompiler,
    private readonly options: WriteOptions,
    private readonly key: KeyOf<C>,
    private readonly condition: Required<Condition>,
    private readonly collect: (item: CompileItem) => B,
  ) {}

  /** Stores the entity. @throws QueryError when its key is not the one that is checked. */
  put(entity: Input<C>): B {
    const { schema, compiler, key, condition, options } = this;
    return this.collect(() => checkedPut(schema, compiler, key, entity, condition, options));
  }

  /** Changes columns: null deletes one, undefined leaves it alone. */
  update(patch: Patch<C>): B {
    const { compiler, key, condition, options } = this;
    return this.collect(async () =>
      compiler.update(await this.row(), key, await compiler.preparePatch(key, patch), options, condition),
    );
  }

  /** Deletes the whole row. */
  delete(): B {
    const { compiler, key, condition, options } = this;
    return this.collect(async () => {
      const row = await this.row();
      await compiler.beforeDelete(key);
      return compiler.delete(row, key, options, condition);
    });
  }

  private async row(): Promise<Uint8Array> {
    return loadRowOfKey(this.schema, this.key, 'batch.check', false);
  }
}
