import type { KeyLayout } from '../key/types.js';
import type { RowChanger } from '../query/bulk-change.js';
import { PATHS } from '../query/feature-planners.js';
import { withDefaults } from '../query/find-options.js';
import {
  checkFindOptions,
  type EntityQuery,
  emptySpec,
  type FindOptions,
  parseKeyConditions,
  EntityQuery as Query,
  type ReadOptions,
  type TableAccess,
} from '../query/index.js';
import type { EqualLookUps } from '../query/path-planner.js';
import type { AccessPath, PathUse } from '../query/query-spec.js';
import type { CheckedPrefix, IndexOf, KeyedClass, KeyQuery } from '../schema/entity-types.js';
import type { TimeRange } from '../table/index.js';

/** Queries of one index. */
export interface IndexFinder<C extends KeyedClass, Name> {
  /**
   * Equality (or `in`) on leading parts, then at most one range.
   * @throws KeyError on conditions that the index cannot search; InvalidArgumentError on unknown options.
   */
  find<const Q extends KeyQuery<IndexOf<C, Name>>>(
    conditions: Q & CheckedPrefix<IndexOf<C, Name>, Q>,
    options?: FindOptions,
  ): EntityQuery<C>;
}

const NOTHING: PathUse['served'] = new Set();
const NO_OPTIONS: FindOptions = Object.freeze({});

/** Queries by one index. The state that does not depend on conditions is prepared once. */
export class ByIndex<C extends KeyedClass> {
  private readonly title: string;
  /** The parts that conditions may name. */
  private readonly searchable: Pick<KeyLayout, 'parts'>;
  private readonly lookUps: EqualLookUps | undefined;

  constructor(
    private readonly index: AccessPath,
    private readonly access: TableAccess,
    private readonly timeRange: TimeRange | undefined,
    private readonly defaults: ReadOptions | undefined,
    private readonly changer: RowChanger | undefined,
  ) {
    const { name, layout, parts } = index.index;
    this.title = `${index.schema.name}.by("${name}")`;
    this.searchable = { parts: layout.parts.filter((part) => parts.includes(part.name)) };
    this.lookUps = PATHS!.lookUpsBy(index, access);
  }

  /** @throws KeyError on conditions that the index cannot search; InvalidArgumentError on unknown options. */
  find(conditions: Readonly<Record<string, unknown>>, given?: FindOptions): Query<C> {
    const { index, timeRange, access } = this;
    const merged = given === undefined ? this.defaults : withDefaults(this.defaults, given);
    const options = merged === undefined ? NO_OPTIONS : checkFindOptions(merged);
    const key = parseKeyConditions(this.title, this.searchable, conditions);
    const why = 'it was asked for by name';
    const through: PathUse = { path: index, key, served: NOTHING, why, others: [] };
    const { fullScan = false, withDeleted } = options;
    const spec = emptySpec(index.schema, {}, { timeRange, fullScan, withDeleted }, through);
    return new Query<C>(access, spec, options, this.changer, this.lookUps);
  }
}
