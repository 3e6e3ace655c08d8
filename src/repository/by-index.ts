/** Queries of one index, of one who reads. */

import type { EntityIndex } from '../indexes/index.js';
import type { KeyLayout } from '../key/types.js';
import { withDefaults } from '../query/find-options.js';
import {
  checkFindOptions,
  EqualLookUps,
  emptySpec,
  type FindOptions,
  type IndexUse,
  parseKeyConditions,
  EntityQuery as Query,
  type ReadOptions,
  type TableAccess,
} from '../query/index.js';
import type { KeyedClass } from '../schema/entity-types.js';
import type { TimeRange } from '../table/index.js';

const NOTHING: IndexUse['served'] = new Set();
const NO_OPTIONS: FindOptions = Object.freeze({});

/** What does not depend on the conditions is made ready once. */
export class ByIndex<C extends KeyedClass> {
  private readonly title: string;
  private readonly asked: Pick<KeyLayout, 'parts'>;
  private readonly lookUps: EqualLookUps | undefined;

  constructor(
    private readonly index: EntityIndex,
    private readonly access: TableAccess,
    private readonly timeRange: TimeRange | undefined,
    private readonly defaults: ReadOptions | undefined,
  ) {
    const { name, layout, parts } = index.index;
    this.title = `${index.schema.name}.by("${name}")`;
    this.asked = { parts: layout.parts.filter((part) => parts.includes(part.name)) };
    this.lookUps = EqualLookUps.of(index, access);
  }

  /** @throws KeyError on conditions that the index cannot search; InvalidArgumentError on unknown options. */
  find(conditions: Readonly<Record<string, unknown>>, said?: FindOptions): Query<C> {
    const { index, timeRange, access } = this;
    const given = said === undefined ? this.defaults : withDefaults(this.defaults, said);
    const options = given === undefined ? NO_OPTIONS : checkFindOptions(given);
    const key = parseKeyConditions(this.title, this.asked, conditions);
    const why = 'it was asked for by name';
    const through: IndexUse = { index, key, served: NOTHING, why, others: [] };
    const { fullScan = false, withDeleted } = options;
    const spec = emptySpec(index.schema, {}, { timeRange, fullScan, withDeleted }, through);
    return new Query<C>(access, spec, options, undefined, this.lookUps);
  }
}
