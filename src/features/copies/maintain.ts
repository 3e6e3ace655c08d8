import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { InvalidArgumentError, UnsupportedError } from '../../errors.js';
import {
  type ChangeImage,
  type ChangeParticipant,
  type ChangeStep,
  type EntityChange,
  type FollowUp,
  type OwnColumn,
  refuseUnfollowed,
} from '../../repository/executor.js';
import { noteOf } from '../../repository/outbox.js';
import type { Follower, FollowerContext, Share } from '../../repository/remote/follower.js';
import { differ, RowImage } from '../../repository/row-image.js';
import { RowMarker } from '../../repository/row-marker.js';
import type { ColumnSchema, EntitySchema } from '../../schema/types.js';
import { Get, LATEST_TIMESTAMP, type RowMutation } from '../../table/index.js';
import type { LinkPosition } from '../relations/link.js';
import { areEqual, type CopiedValues, type CopyPlan } from './plan.js';

/** Keeps copies what their sources are: in the rows that hold them, and from the rows that they are made of. */

/** Gives each row the copies of the sources that it names. */
export class CopyHolder implements ChangeParticipant {
  readonly name = 'copies';
  private readonly presence: RowMarker;

  constructor(
    private readonly schema: EntitySchema,
    private readonly plans: readonly CopyPlan[],
    private readonly now: () => number,
  ) {
    this.presence = new RowMarker(schema);
  }

  amend(change: ChangeImage, step: ChangeStep): readonly OwnColumn[] {
    refuseUnfollowed(this.schema, 'copies (@Denormalized)', change.mutations, this.now);
    const { before, after } = change;
    const wasThere = this.presence.isIn(before, 'deleted too');
    if (!this.presence.isIn(after, 'deleted too')) return wasThere ? this.left(after) : NOTHING;
    const isNew = !wasThere;
    let out: readonly OwnColumn[] = NOTHING;
    for (const plan of this.plans) {
      if (!isNew && !differ(before, after, plan.link.columns) && !differ(before, after, plan.columns))
        continue;
      const off = this.offOf(plan, change, step);
      if (off.length === 0) continue;
      this.refuse(plan, off, change);
      const ttl = plan.lifeOf(after);
      out = [...out, ...(ttl === undefined ? off : off.map((own) => ({ ...own, ttl })))];
    }
    return out;
  }

  /** Copies of a later time than the delete of their row: nobody wrote them but who follows the sources. */
  private left(after: RowImage): readonly OwnColumn[] {
    return this.plans.flatMap(({ columns }) =>
      columns
        .filter(({ family, qualifier }) => after.value(family, qualifier) !== undefined)
        .map(({ family, qualifier }) => ({ family, qualifier, value: undefined })),
    );
  }

  follow(): readonly FollowUp[] {
    return NOTHING;
  }

  concerns(): boolean {
    return false;
  }

  private offOf(plan: CopyPlan, { row, after }: ChangeImage, step: ChangeStep): OwnColumn[] {
    const target = plan.link.targetOf(after.toResult());
    const itself = target !== undefined && plan.source === this.schema && equalBytes(target, row);
    const source = target && (itself ? after : plan.read(step, target));
    return plan.differences(after, plan.valuesOf(source));
  }

  /** What was said of copies by who meant it, and what would hide them. */
  private refuse(plan: CopyPlan, off: readonly OwnColumn[], change: ChangeImage): void {
    const { operation, before, mutations } = change;
    const { entity, source } = plan;
    for (const { family, qualifier } of off) {
      const said = saidOf(mutations, family, qualifier);
      if (said === undefined) continue;
      const { time, value } = said;
      const column = plan.columns.find(
        (one) => one.family === family && equalBytes(one.qualifier, qualifier),
      )!;
      const details = { entity: entity.name, property: column.property };
      const was = before.value(family, qualifier);
      // What is only written anew, as where a life begins anew, was said by nobody.
      const isAnew = was !== undefined && value !== undefined && equalBytes(was, value);
      if (!isAnew && (operation === 'update' || operation === 'mutate')) {
        throw new InvalidArgumentError(
          `${entity.name}.${column.property} is a copy of ${source.name}, and not to be changed here. Change the ${source.name}, or ${plan.copy.via.map(([, held]) => held).join(', ')}, by which it is found.`,
          { details },
        );
      }
      if (time !== LATEST_TIMESTAMP && time > this.now()) {
        throw new UnsupportedError(
          `${entity.name}.${column.property} is a copy of ${source.name}, which a write of a time to come would hide. Leave out the timestamp.`,
          { details },
        );
      }
    }
  }
}

const NOTHING: readonly never[] = Object.freeze([]);

/** Has the rows that hold copies of a row follow its changes. */
export class CopySource implements ChangeParticipant {
  readonly name = 'copied';

  constructor(
    private readonly schema: EntitySchema,
    private readonly plans: readonly CopyPlan[],
    private readonly now: () => number,
    /** Told of each note for the outbox, which stands once the step does. */
    private readonly onNote: () => void,
  ) {}

  follow(change: ChangeImage, step: ChangeStep): readonly (FollowUp | EntityChange)[] {
    const { row, after } = change;
    let out: (FollowUp | EntityChange)[] | undefined;
    for (const plan of changesCopies(this.schema, this.plans, change, this.now)) {
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

  concerns(columns: readonly ColumnSchema[]): boolean {
    return this.plans.some((plan) => plan.copiesAny(columns));
  }
}

/** The declarations of which a change has something to copy. @throws UnsupportedError on what cannot be followed. */
export function changesCopies(
  schema: EntitySchema,
  plans: readonly CopyPlan[],
  { before, after, mutations }: ChangeImage,
  now: () => number,
): readonly CopyPlan[] {
  refuseUnfollowed(schema, 'copies in other rows (@Denormalized)', mutations, now);
  return plans.filter((plan) => !areEqual(plan.valuesOf(before), plan.valuesOf(after)));
}

/** The time at which the mutations change a column; undefined: they do not. */
function saidOf(
  mutations: readonly RowMutation[],
  family: string,
  qualifier: Uint8Array,
): { readonly time: number; readonly value?: Uint8Array } | undefined {
  const name = toLatin1(qualifier);
  for (const mutation of mutations) {
    if (!('cells' in mutation)) {
      const { columns } = mutation;
      if (columns.some((one) => one.family === family && toLatin1(one.qualifier) === name))
        return { time: LATEST_TIMESTAMP };
      continue;
    }
    const cell = mutation.cells.find((one) => one.family === family && toLatin1(one.qualifier) === name);
    if (cell !== undefined)
      return { time: cell.timestamp, ...(mutation.kind === 'put' && { value: cell.value }) };
  }
  return undefined;
}

/**
 * Copies where one step of the engine is one row (docs/denormalization.md): a row is written with the values that its source
 * has then, and both sides look again behind their writes. Who writes last looks last, so what stays is what the source is.
 */

/** How often copies are put right while their sources go on changing, before it is left to the outbox. */
const ROUNDS = 16;
/** Rows changed together. */
const TOGETHER = 256;

/** Gives each row the copies of the sources that it names. */
export class CopyHolderFollower implements Follower {
  readonly name = 'copies';
  private readonly holder: CopyHolder;
  private readonly presence: RowMarker;

  constructor(
    private readonly schema: EntitySchema,
    private readonly plans: readonly CopyPlan[],
    private readonly source: FollowerContext,
  ) {
    this.holder = new CopyHolder(schema, plans, () => source.now());
    this.presence = new RowMarker(schema);
  }

  amend(change: ChangeImage, step: ChangeStep): readonly OwnColumn[] {
    return this.holder.amend(change, step);
  }

  /** Where the row was given the values of a source, that source may have changed before it was written. */
  follow({ before, after }: ChangeImage): boolean {
    if (!this.presence.isIn(after, 'deleted too')) return false;
    const isNew = !this.presence.isIn(before, 'deleted too');
    return this.plans.some(
      (plan) =>
        (isNew || differ(before, after, plan.link.columns) || differ(before, after, plan.columns)) &&
        plan.link.targetOf(after.toResult()) !== undefined,
    );
  }

  async settle(row: Uint8Array): Promise<boolean> {
    for (let round = 0; round < ROUNDS; round++) if ((await this.mend(row)) === 0) return true;
    return false;
  }

  /** Makes the copies of a row what its sources are; how many declarations had something to change. */
  async mend(row: Uint8Array): Promise<number> {
    const { reading, following } = this.source;
    const changes = await reading((step) => {
      const image = RowImage.of(row, step.read(new Get(row), this.schema.table.descriptor.name));
      if (!this.presence.isIn(image, 'deleted too')) return [];
      return this.plans.flatMap((plan) => this.mending(plan, image, step) ?? []);
    });
    return changes.length === 0 ? 0 : following(changes);
  }

  private mending(plan: CopyPlan, image: RowImage, step: ChangeStep): EntityChange | undefined {
    const target = plan.link.targetOf(image.toResult());
    const values = plan.valuesOf(target && plan.read(step, target));
    if (plan.differences(image, values).length === 0) return undefined;
    return { ...plan.change(image.row, target, values), operation: 'put' };
  }
}

/** Has the rows that hold copies of a row follow its changes. */
export class CopySourceFollower implements Follower {
  readonly name = 'copied';

  constructor(
    private readonly schema: EntitySchema,
    private readonly plans: readonly CopyPlan[],
    private readonly source: FollowerContext,
  ) {}

  follow(change: ChangeImage): boolean {
    return changesCopies(this.schema, this.plans, change, () => this.source.now()).length > 0;
  }

  async settle(row: Uint8Array, share: Share): Promise<boolean> {
    let isDone = true;
    for (const plan of this.plans) if (!(await this.settleOne(plan, row, share))) isDone = false;
    return isDone;
  }

  async fence(row: Uint8Array): Promise<boolean> {
    let isDone = true;
    for (const plan of this.plans) {
      let from: LinkPosition | undefined;
      do {
        const start = from;
        const found = await this.source.reading((step) => plan.link.find(step, row, TOGETHER, start));
        if (!(await this.source.fence(plan.entity, found.rows))) isDone = false;
        from = found.next;
      } while (from !== undefined);
    }
    return isDone;
  }

  private async settleOne(plan: CopyPlan, row: Uint8Array, share: Share): Promise<boolean> {
    const { reading } = this.source;
    let values = await this.valuesOf(plan, row);
    for (let round = 0; round < ROUNDS; round++) {
      if (share === 'declared') {
        const { rows, next } = await reading((step) => plan.link.find(step, row, plan.fanOut + 1));
        if (next !== undefined || rows.length > plan.fanOut) return false;
        await this.give(plan, row, rows, values);
      } else {
        await this.giveAll(plan, row, values);
      }
      // What was written may be older by now than what another has written.
      const now = await this.valuesOf(plan, row);
      if (areEqual(now, values)) return true;
      values = now;
    }
    return false;
  }

  private valuesOf(plan: CopyPlan, row: Uint8Array): Promise<CopiedValues> {
    return this.source.reading((step) => plan.valuesOf(plan.read(step, row)));
  }

  private async giveAll(plan: CopyPlan, row: Uint8Array, values: CopiedValues): Promise<void> {
    let from: LinkPosition | undefined;
    do {
      const start = from;
      const found = await this.source.reading((step) => plan.link.find(step, row, TOGETHER, start));
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
    await this.source.following(
      plan.changes(rows, row, values).map((change) => ({ ...change, operation: 'put' })),
    );
  }
}
