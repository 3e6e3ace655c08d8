import { equalBytes } from '../../bytes/index.js';
import { InvalidArgumentError, UnsupportedError } from '../../errors.js';
import {
  type ChangeImage,
  type ChangeStep,
  type Effect,
  type EntityChange,
  type MaintainerContext,
  type OwnColumn,
  type RowMaintainer,
  refuseUnfollowed,
  type Share,
  writtenColumn,
} from '../../repository/maintainer.js';
import { noteOf } from '../../repository/outbox.js';
import { RowImage } from '../../repository/row-image.js';
import { RowMarker } from '../../repository/row-marker.js';
import type { ColumnSchema, EntitySchema } from '../../schema/types.js';
import { Get, LATEST_TIMESTAMP } from '../../table/index.js';
import { fenceLinked, type LinkPosition } from '../relations/link.js';
import { areEqual, type CopiedValues, type CopyPlan, type SourceReader } from './plan.js';

/**
 * The maintainers of copies: one for the rows that hold copies, one for their sources (docs/denormalization.md).
 *
 * On engines whose atomic step is one row, a row is written with the values that its source has at that time, and
 * both sides read again after their writes. The last writer is also the last reader, so the copies end up equal to
 * the source.
 */

/** How often copies are corrected while their sources keep changing. After that the outbox takes over. */
const ROUNDS = 16;
/** Rows changed in one batch. */
const TOGETHER = 256;

/** Sets the copies in a changed row to the values of the sources that the row names. */
export class CopyHolder implements RowMaintainer {
  readonly name = 'copies';
  private readonly marker: RowMarker;

  constructor(
    private readonly schema: EntitySchema,
    private readonly plans: readonly CopyPlan[],
    private readonly context: MaintainerContext,
  ) {
    this.marker = new RowMarker(schema);
  }

  amend(change: ChangeImage, step: ChangeStep): readonly OwnColumn[] {
    refuseUnfollowed(this.schema, 'copies (@Denormalized)', change.mutations, this.context.now);
    const { before, after } = change;
    const wasThere = this.marker.isIn(before, 'withDeleted');
    if (!this.marker.isIn(after, 'withDeleted')) return wasThere ? this.left(after) : NOTHING;
    let out: readonly OwnColumn[] = NOTHING;
    for (const plan of this.plans) {
      const read = this.readerOf(plan, change, step);
      const off = plan.amend(wasThere ? before : undefined, after, read);
      if (off.length === 0) continue;
      this.refuse(plan, off, change);
      const ttl = plan.lifeOf(after);
      out = [...out, ...(ttl === undefined ? off : off.map((own) => ({ ...own, ttl })))];
    }
    return out;
  }

  /** Copies left in a deleted row: cells newer than the delete, written by a follow-up of a source. */
  private left(after: RowImage): readonly OwnColumn[] {
    return this.plans.flatMap((plan) =>
      plan.placesIn(after).map(({ family, qualifier }) => ({ family, qualifier, value: undefined })),
    );
  }

  effects(): readonly Effect[] {
    return NOTHING;
  }

  isAffectedBy(): boolean {
    return false;
  }

  /** The source may change between the read of its values and the write of the row. */
  hasEffects({ before, after }: ChangeImage): boolean {
    if (!this.marker.isIn(after, 'withDeleted')) return false;
    const was = this.marker.isIn(before, 'withDeleted') ? before : undefined;
    return this.plans.some((plan) => plan.takesCopies(was, after));
  }

  async settle(row: Uint8Array): Promise<boolean> {
    for (let round = 0; round < ROUNDS; round++) if ((await this.repair(row)) === 0) return true;
    return false;
  }

  /** Sets the copies of a row to the values of its sources. @returns how many declarations had something to change. */
  async repair(row: Uint8Array): Promise<number> {
    const { reading, applyChanges } = this.context;
    const changes = await reading((step) => {
      const image = RowImage.of(row, step.read(new Get(row), this.schema.table.descriptor.name));
      if (!this.marker.isIn(image, 'withDeleted')) return [];
      return this.plans.flatMap((plan) => this.correctionOf(plan, image, step) ?? []);
    });
    return changes.length === 0 ? 0 : applyChanges(changes);
  }

  private correctionOf(plan: CopyPlan, image: RowImage, step: ChangeStep): EntityChange | undefined {
    const differences = plan.differencesOf(image, (target) => plan.read(step, target));
    if (differences.fault === undefined) return undefined;
    return { ...plan.correction(image, differences), operation: 'put' };
  }

  /** Reads sources of a changed row, which may be its own source. */
  private readerOf(plan: CopyPlan, { row, after }: ChangeImage, step: ChangeStep): SourceReader {
    return (target) =>
      plan.source === this.schema && equalBytes(target, row) ? after : plan.read(step, target);
  }

  /** Refuses writes of copies by the application, and deletes that would hide them. */
  private refuse(plan: CopyPlan, off: readonly OwnColumn[], change: ChangeImage): void {
    const { operation, before, mutations } = change;
    const { entity, source } = plan;
    for (const { family, qualifier } of off) {
      const written = writtenColumn(mutations, { family, qualifier });
      if (written === undefined) continue;
      const { time, value } = written;
      const property = plan.propertyAt({ family, qualifier });
      const details = { entity: entity.name, property };
      const was = before.value(family, qualifier);
      // A rewrite of an unchanged value, as when a TTL is renewed, is not a write by the application.
      const isAnew = was !== undefined && value !== undefined && equalBytes(was, value);
      if (!plan.ignoresValues && !isAnew && (operation === 'update' || operation === 'mutate')) {
        throw new InvalidArgumentError(
          `${entity.name}.${property} is a copy of ${source.name} and cannot be changed here. Change the ${source.name}, or ${plan.copy.via.map(([, held]) => held).join(', ')}, which links to it.`,
          { details },
        );
      }
      if (time !== LATEST_TIMESTAMP && time > this.context.now()) {
        throw new UnsupportedError(
          `${entity.name}.${property} is a copy of ${source.name}, which a write with a future timestamp would hide. Omit the timestamp.`,
          { details },
        );
      }
    }
  }
}

const NOTHING: readonly never[] = Object.freeze([]);

/** Updates the rows that hold copies of a changed row. */
export class CopySource implements RowMaintainer {
  readonly name = 'copied';

  constructor(
    private readonly schema: EntitySchema,
    private readonly plans: readonly CopyPlan[],
    private readonly context: MaintainerContext,
    /** Called for each note written to the outbox. The note exists once the step is committed. */
    private readonly onNote: () => void,
  ) {}

  effects(change: ChangeImage, step: ChangeStep): readonly Effect[] {
    const { row, after } = change;
    let out: Effect[] | undefined;
    for (const plan of this.changed(change)) {
      const values = plan.valuesOf(after);
      out ??= [];
      const { rows, next } = plan.link.find(step, row, plan.fanOut + 1);
      if (next === undefined && rows.length <= plan.fanOut) {
        out.push(...plan.changes(rows, row, values));
      } else {
        out.push(noteOf(plan, row));
        this.onNote();
      }
    }
    return out ?? NOTHING;
  }

  isAffectedBy(columns: readonly ColumnSchema[]): boolean {
    return this.plans.some((plan) => plan.copiesAny(columns));
  }

  hasEffects(change: ChangeImage): boolean {
    return this.changed(change).length > 0;
  }

  /**
   * The declarations that copy a column which the change alters. @throws UnsupportedError on changes that copies
   * cannot follow.
   */
  private changed({ before, after, mutations }: ChangeImage): readonly CopyPlan[] {
    refuseUnfollowed(this.schema, 'copies in other rows (@Denormalized)', mutations, this.context.now);
    return this.plans.filter((plan) => !areEqual(plan.valuesOf(before), plan.valuesOf(after)));
  }

  async settle(row: Uint8Array, share: Share): Promise<boolean> {
    let isDone = true;
    for (const plan of this.plans) if (!(await this.settleOne(plan, row, share))) isDone = false;
    return isDone;
  }

  fence(row: Uint8Array): Promise<boolean> {
    return fenceLinked(this.context, this.plans, row);
  }

  private async settleOne(plan: CopyPlan, row: Uint8Array, share: Share): Promise<boolean> {
    const { reading } = this.context;
    let known: CopiedValues | Promise<CopiedValues> = this.valuesOf(plan, row);
    for (let round = 0; round < ROUNDS; round++) {
      let values: CopiedValues;
      if (share === 'declared') {
        const finding = reading((step) => plan.link.find(step, row, plan.fanOut + 1));
        const [read, { rows, next }] = await Promise.all([known, finding]);
        if (next !== undefined || rows.length > plan.fanOut) return false;
        // Rows that start naming this one from now on read it after their own write.
        if (rows.length === 0) return true;
        values = read;
        await this.give(plan, row, rows, values);
      } else {
        values = await known;
        await this.giveAll(plan, row, values);
      }
      // Another writer may have written newer values meanwhile.
      const now = await this.valuesOf(plan, row);
      if (areEqual(now, values)) return true;
      known = now;
    }
    return false;
  }

  private valuesOf(plan: CopyPlan, row: Uint8Array): Promise<CopiedValues> {
    return this.context.reading((step) => plan.valuesOf(plan.read(step, row)));
  }

  private async giveAll(plan: CopyPlan, row: Uint8Array, values: CopiedValues): Promise<void> {
    let from: LinkPosition | undefined;
    do {
      const start = from;
      const found = await this.context.reading((step) => plan.link.find(step, row, TOGETHER, start));
      await this.give(plan, row, found.rows, values);
      from = found.next;
    } while (from !== undefined);
  }

  private async give(
    plan: CopyPlan,
    row: Uint8Array,
    rows: readonly Uint8Array[],
    values: CopiedValues,
  ): Promise<void> {
    await this.context.applyChanges(
      plan.changes(rows, row, values).map((change) => ({ ...change, operation: 'put' })),
    );
  }
}
