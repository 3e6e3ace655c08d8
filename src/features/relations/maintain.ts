import { equalBytes } from '../../bytes/index.js';
import { QueryError, RowanError } from '../../errors.js';
import type { IndexState } from '../../query/access.js';
import { Expiry } from '../../repository/expiry.js';
import {
  type ChangeImage,
  type ChangeStep,
  type EntityChange,
  type MaintainerContext,
  type RowMaintainer,
  refuseAhead,
  refuseUnfollowed,
  type Share,
} from '../../repository/maintainer.js';
import { keyText } from '../../repository/row-access.js';
import { differ, RowImage } from '../../repository/row-image.js';
import { RowMarker } from '../../repository/row-marker.js';
import { MAX_EFFECTS } from '../../repository/step-driver.js';
import { VersionLock } from '../../repository/version-lock.js';
import type { ColumnSchema, EntitySchema, IndexSchema, ReferenceRule } from '../../schema/types.js';
import { Delete, Get, type RowMutation } from '../../table/index.js';
import { fenceLinked, Link, type LinkPosition } from './link.js';

/**
 * The maintainers of referential rules: one for rows that name others, one for rows that are named
 * (docs/relations.md).
 *
 * On engines whose atomic step is one row, a write looks for the rows it names before it writes, and a delete looks
 * for the rows that name it afterwards. The write looks again afterwards, so one of the two sees the other. A refusal
 * is decided before the write only.
 */

/** Rows that a deleting writer waits for. The outbox does the rest. */
const AWAITED = 1000;
/** Rows changed in one batch. */
const TOGETHER = 256;

/** A rule with its link. */
export class ReferencePlan {
  readonly link: Link;
  /** The columns that `setNull` clears. */
  readonly cleared: readonly ColumnSchema[];

  constructor(
    readonly entity: EntitySchema,
    readonly rule: ReferenceRule,
    readonly other: EntitySchema,
  ) {
    this.link = new Link(entity, rule, other);
    this.cleared = this.link.columns.filter(({ property }) => rule.clears.includes(property));
  }

  get name(): string {
    return `${this.entity.name}.${this.rule.property}`;
  }

  /** What else than writing the named entity makes a write of one that names it possible, for messages. */
  get orOmit(): string {
    const optional = this.link.columns.filter(({ required }) => !required).map(({ property }) => property);
    return optional.length === 0 ? '' : `, or omit ${optional.join(' and ')}`;
  }

  /** The key that a row names and no row has. Undefined: none is missing. */
  missing(row: RowImage, own: EntitySchema, step: ChangeStep): Record<string, unknown> | undefined {
    const key = this.link.keyOf(row.toResult());
    if (key === undefined) return undefined;
    const target = this.link.rowOfKey(key);
    if (target === undefined) return key;
    if (own === this.other && equalBytes(target, row.row)) return undefined;
    const { named } = this.link;
    const get = new Get(target);
    named.addTo(get, false);
    const found = RowImage.of(target, step.read(get, this.other.table.descriptor.name));
    return named.isIn(found, 'live') ? undefined : key;
  }

  /** Whether cells that the rule removes have a timestamp in the future: its delete does not reach them. */
  isAhead(row: RowImage, now: number): boolean {
    const { onDelete } = this.rule;
    if (onDelete !== 'cascade' && onDelete !== 'setNull') return false;
    return row
      .toResult()
      .cells.some(
        ({ family, qualifier, timestamp }) =>
          timestamp > now &&
          (onDelete === 'cascade' ||
            this.cleared.some((one) => one.family === family && equalBytes(one.qualifier, qualifier))),
      );
  }

  /**
   * The change that the rule makes to a row with a dangling reference. Undefined: the reference is valid, or the rule
   * changes nothing, or cannot.
   */
  orphaned(row: RowImage, own: EntitySchema, step: ChangeStep, now: () => number): EntityChange | undefined {
    const { onDelete } = this.rule;
    if ((onDelete !== 'cascade' && onDelete !== 'setNull') || this.isAhead(row, now())) return undefined;
    const key = this.link.own.isIn(row, 'withDeleted') ? this.missing(row, own, step) : undefined;
    const target = key && this.link.rowOfKey(key);
    return target && ruledChange(this, row.row, target, now);
  }
}

/** Refuses rows that name missing rows. Afterwards applies the rules if a named row was deleted meanwhile. */
export class ReferenceHolder implements RowMaintainer {
  readonly name = 'references';
  private readonly marker: RowMarker;

  constructor(
    private readonly schema: EntitySchema,
    private readonly plans: readonly ReferencePlan[],
    private readonly context: MaintainerContext,
  ) {
    this.marker = new RowMarker(schema);
  }

  /** The rules by which the change names another row than before. */
  private newlyNamed({ before, after }: ChangeImage): readonly ReferencePlan[] {
    if (!this.marker.isIn(after, 'live')) return NOTHING;
    const isNew = !this.marker.isIn(before, 'live');
    return this.plans.filter(({ link }) => isNew || differ(before, after, link.columns));
  }

  effects(change: ChangeImage, step: ChangeStep): readonly EntityChange[] {
    for (const { cleared, name, rule } of this.plans) {
      if (rule.onDelete !== 'setNull' && rule.onDelete !== 'cascade') continue;
      const columns = rule.onDelete === 'setNull' ? cleared : undefined;
      refuseAhead(
        this.schema,
        `a rule (${name}, onDelete: '${rule.onDelete}')`,
        change.mutations,
        this.context.now,
        columns,
      );
    }
    for (const plan of this.newlyNamed(change)) {
      if (!plan.rule.exists) continue;
      const key = plan.missing(change.after, this.schema, step);
      if (key === undefined) continue;
      const { other } = plan;
      throw new RowanError(
        'ERR_REFERENCE',
        `${plan.name} references the ${other.name} ${keyText(other, key)}, which does not exist. Write it first${plan.orOmit}.`,
        { details: { entity: this.schema.name, property: plan.rule.property, key } },
      );
    }
    return NOTHING;
  }

  isAffectedBy(columns: readonly ColumnSchema[]): boolean {
    return (
      this.marker.dependsOn(columns) ||
      this.plans.some(({ link }) => link.columns.some((column) => columns.includes(column)))
    );
  }

  hasEffects(change: ChangeImage, step: ChangeStep): boolean {
    this.effects(change, step);
    const named = this.newlyNamed(change);
    return named.some(({ rule }) => rule.onDelete === 'cascade' || rule.onDelete === 'setNull');
  }

  async settle(row: Uint8Array): Promise<boolean> {
    await this.repair(row);
    return true;
  }

  /** Applies the rules to the dangling references of a row. @returns how many rules changed it. */
  async repair(row: Uint8Array): Promise<number> {
    const { reading, applyChanges, now } = this.context;
    const changes = await reading((step) => {
      const image = RowImage.of(row, step.read(new Get(row), this.schema.table.descriptor.name));
      return this.plans.flatMap((plan) => plan.orphaned(image, this.schema, step, now) ?? []);
    });
    return changes.length === 0 ? 0 : applyChanges(changes);
  }
}

const NOTHING: readonly never[] = Object.freeze([]);

/** Candidates tested in one batch before a delete is allowed. */
const LOOKED_AT = 64;

/** Refuses the delete of a named row, or changes the rows that name it. */
export class ReferenceTarget implements RowMaintainer {
  readonly name = 'referred';
  private readonly marker: RowMarker;
  /** The rules that change rows. */
  private readonly changing: readonly ReferencePlan[];

  constructor(
    private readonly schema: EntitySchema,
    private readonly plans: readonly ReferencePlan[],
    private readonly context: MaintainerContext,
    private readonly stateOf: (index: IndexSchema) => IndexState | undefined,
  ) {
    this.marker = new RowMarker(schema);
    this.changing = plans.filter(({ rule }) => rule.onDelete !== 'restrict');
  }

  /** Whether the change is a delete that the rules allow. @throws RowanError `ERR_REFERENCE` when they refuse it. */
  private allows(change: ChangeImage, step: ChangeStep): boolean {
    refuseUnfollowed(this.schema, 'rules of references (onDelete)', change.mutations, this.context.now);
    const { before, after, row } = change;
    if (!this.marker.isIn(before, 'live') || this.marker.isIn(after, 'live')) return false;
    for (const plan of this.plans) {
      this.requireBuilt(plan);
      if (plan.rule.onDelete === 'restrict') this.restrict(plan, row, step);
    }
    return true;
  }

  effects(change: ChangeImage, step: ChangeStep): readonly EntityChange[] {
    if (!this.allows(change, step)) return NOTHING;
    const { row } = change;
    const out: EntityChange[] = [];
    for (const plan of this.changing) {
      // One more than the limit, to report when there are too many.
      const { rows } = plan.link.find(step, row, MAX_EFFECTS + 1);
      for (const own of rows) out.push(ruledChange(plan, own, row, this.context.now));
    }
    return out;
  }

  isAffectedBy(columns: readonly ColumnSchema[]): boolean {
    return this.marker.dependsOn(columns);
  }

  hasEffects(change: ChangeImage, step: ChangeStep): boolean {
    return this.allows(change, step) && this.changing.length > 0;
  }

  async settle(row: Uint8Array, share: Share): Promise<boolean> {
    const { reading, applyChanges, now } = this.context;
    let left = share === 'all' ? Number.POSITIVE_INFINITY : AWAITED;
    for (const plan of this.changing) {
      let from: LinkPosition | undefined;
      do {
        if (left <= 0) return false;
        const start = from;
        // If the row was written again meanwhile, its references are valid again.
        const found = await reading((step) =>
          this.isThere(row, step) ? undefined : plan.link.find(step, row, TOGETHER, start),
        );
        if (found === undefined) return true;
        await applyChanges(found.rows.map((own): EntityChange => ruledChange(plan, own, row, now)));
        left -= found.rows.length;
        from = found.next;
      } while (from !== undefined);
    }
    return true;
  }

  fence(row: Uint8Array): Promise<boolean> {
    return fenceLinked(this.context, this.changing, row);
  }

  private isThere(row: Uint8Array, step: ChangeStep): boolean {
    const get = new Get(row);
    this.marker.addTo(get, false);
    const image = RowImage.of(row, step.read(get, this.schema.table.descriptor.name));
    return this.marker.isIn(image, 'live');
  }

  private restrict({ entity, link, name, rule }: ReferencePlan, row: Uint8Array, step: ChangeStep): void {
    let from: LinkPosition | undefined;
    do {
      const { rows, next } = link.find(step, row, LOOKED_AT, from);
      for (const own of rows) {
        if (entity === this.schema && equalBytes(own, row)) continue;
        const image = RowImage.of(own, step.read(new Get(own), entity.table.descriptor.name));
        if (!link.own.isIn(image, 'live') || !link.names(image, row)) continue;
        const key = this.schema.key.decode(row);
        throw new RowanError(
          'ERR_REFERENCE',
          `${this.schema.name} ${keyText(this.schema, key)} is not deleted: ${entity.name} ${keyText(entity, entity.key.decode(own))} references it (${name}, onDelete: 'restrict'). Delete that first, or change its reference.`,
          { details: { entity: entity.name, property: rule.property, key } },
        );
      }
      from = next;
    } while (from !== undefined);
  }

  private requireBuilt({ entity, link, name }: ReferencePlan): void {
    const { index } = link;
    const state = index && this.stateOf(index);
    if (index === undefined || state === undefined || state === 'active') return;
    throw new QueryError(
      `${this.schema.name} rows cannot be deleted yet: the index "${index.name}" of ${entity.name}, which finds the referencing rows (${name}), is ${state}. Build it: await db.references(${entity.name}).backfill(), or rowan references backfill.`,
      { details: { entity: entity.name, index: index.name, state } },
    );
  }
}

/** The change that a rule makes to a row when the row that it names is deleted. */
function ruledChange(
  { entity, link, rule, cleared }: ReferencePlan,
  row: Uint8Array,
  target: Uint8Array,
  now: () => number,
): EntityChange {
  const cascade = rule.onDelete === 'cascade';
  return {
    entity,
    operation: cascade ? 'delete' : 'mutate',
    row,
    resolve: (before) => {
      if (!link.own.isIn(before, 'withDeleted') || !link.names(before, target)) return NOTHING;
      return cascade ? [new Delete(row)] : unnamed(entity, cleared, before, now);
    },
  };
}

/** Clears the reference of a row, and increments its version. */
function unnamed(
  entity: EntitySchema,
  columns: readonly ColumnSchema[],
  before: RowImage,
  now: () => number,
): readonly RowMutation[] {
  const del = new Delete(before.row);
  for (const { family, qualifier } of columns) del.addColumns(family, qualifier);
  const lock = VersionLock.of(entity);
  const counted = lock === undefined ? [del] : lock.counted([del], lock.stored(before));
  return Expiry.of(entity, now)?.carry(counted, before) ?? counted;
}
