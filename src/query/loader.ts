/** Rows made into what a reader is given. */

import type { EntitySchema, RowReader } from '../schema/types.js';
import { RawRow, type Result } from '../table/index.js';
import type { TableAccess } from './access.js';
import type { Finish } from './finish.js';
import { recoverAndRetry, recovering } from './recover.js';
import { keptRow, type Row } from './row.js';

/** Makes entities, or parts of them, of the rows of one entity. */
export class RowLoader {
  private readonly reader: RowReader;
  private readonly afterLoad: EntitySchema['lifecycle']['afterLoad'];

  /**
   * @param properties the only ones to be set; undefined: all, and `@AfterLoad` runs.
   * @param finish cuts what is loaded down to what was asked for
   */
  constructor(
    schema: EntitySchema,
    private readonly access: TableAccess,
    properties?: ReadonlySet<string>,
    private readonly finish?: Finish,
  ) {
    this.reader = schema.mapper.readerOf(properties);
    this.afterLoad = properties === undefined ? schema.lifecycle.afterLoad : undefined;
  }

  /** Null when the row has no cells. What decoding lacks is fetched. */
  load(row: Row): object | null | Promise<object | null> {
    let entity: object | null;
    try {
      entity = row instanceof RawRow ? this.reader.readRaw(row) : this.reader.read(row);
    } catch (error) {
      const kept = keptRow(row);
      return recoverAndRetry(this.access, error, () => this.reader.read(kept)).then((again) =>
        this.done(again),
      );
    }
    return this.done(entity);
  }

  private done(entity: object | null): object | null | Promise<object | null> {
    if (entity === null) return null;
    this.finish?.(entity as Record<string, unknown>);
    if (this.afterLoad === undefined) return entity;
    const hooks = this.afterLoad(entity);
    return hooks instanceof Promise ? hooks.then(() => entity) : entity;
  }
}

/** The entity of a result, its `@AfterLoad` hooks run; null when there is none. */
export function loadEntity(
  schema: EntitySchema,
  access: TableAccess,
  result: Result,
): object | null | Promise<object | null> {
  return recovering(access, () => new RowLoader(schema, access).load(result));
}
