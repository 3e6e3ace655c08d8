/** The history of applied plans. Each entry is chained to the one before by its checksum. */

import { RowanError } from '../../errors.js';
import { canonicalJson, shortHash } from '../plan/plan.js';
import type { SchemaStep, StepClass } from '../plan/types.js';
import { type ControlTable, entryRow, type Kept } from './control-table.js';

export interface RecordedStep {
  readonly id: string;
  readonly class: StepClass;
  readonly from?: unknown;
  readonly to?: unknown;
}

export interface PlanRecord {
  /** From 1. */
  readonly number: number;
  /** Checksum of the plan; of a migration its own. */
  readonly plan: string;
  /** The migration whose steps they are; undefined for a plan of `apply`. */
  readonly migration?: string;
  /** Whether the steps undid the migration. Entries of earlier releases do not say it. */
  readonly undo?: true;
  /** `running` while the plan is applied; `abandoned` if its process ended before it was complete. */
  readonly state: 'running' | 'done' | 'failed' | 'abandoned';
  /** Milliseconds since 1970. */
  readonly begun: number;
  readonly ended?: number;
  /** `user@host`. */
  readonly by: string;
  /** The steps done; for an entry that is not `done`, a lower bound. */
  readonly steps: readonly RecordedStep[];
  /** Ids of steps that were not allowed. */
  readonly held: readonly string[];
  readonly error?: string;
  /** Covers all fields above and the checksum of the entry before. */
  readonly checksum: string;
}

/** An entry read from the table, with whether its checksum is correct. */
export interface ReadPlanRecord extends PlanRecord {
  readonly intact: boolean;
}

type Content = Omit<PlanRecord, 'checksum'>;

function sealed(content: Content, previous: string): PlanRecord {
  return { ...content, checksum: shortHash(`${previous}\n${canonicalJson(content)}`) };
}

/** Every entry, oldest first. An entry is not intact if it or the one before it was changed or is missing. */
export async function readHistory(control: ControlTable): Promise<ReadPlanRecord[]> {
  const entries = await control.entries<PlanRecord>();
  let previous = '';
  let number = 0;
  return entries.map(({ value }) => {
    const { checksum, ...content } = value;
    const intact = sealed(content, previous).checksum === checksum && value.number === number + 1;
    previous = checksum;
    number = value.number;
    return { ...value, intact };
  });
}

/** Writes the entry of one plan while it is applied. Only the owner of the lock does. */
export class HistoryWriter {
  private constructor(
    private readonly control: ControlTable,
    private readonly previous: string,
    private kept: Kept<PlanRecord>,
  ) {}

  static async begin(
    control: ControlTable,
    {
      plan,
      migration,
      undo,
      held,
    }: Pick<PlanRecord, 'plan' | 'migration' | 'undo'> & { readonly held: readonly SchemaStep[] },
    by: string,
    now: number,
  ): Promise<HistoryWriter> {
    const entries = await control.entries<PlanRecord>();
    const last = entries.at(-1);
    let previous = last?.value.checksum ?? '';
    if (last?.value.state === 'running') {
      const { checksum: _, ...content } = last.value;
      const before = entries.at(-2)?.value.checksum ?? '';
      const entry = sealed({ ...content, state: 'abandoned', ended: now }, before);
      await change(control, entry.number, last, entry);
      previous = entry.checksum;
    }
    const number = (last?.value.number ?? 0) + 1;
    const content: Content = {
      number,
      plan,
      ...(migration !== undefined && { migration }),
      ...(undo !== undefined && { undo }),
      state: 'running',
      begun: now,
      by,
      steps: [],
      held: held.map(({ id }) => id),
    };
    const kept = await change(control, number, undefined, sealed(content, previous));
    return new HistoryWriter(control, previous, kept);
  }

  async done(step: SchemaStep): Promise<void> {
    const { id, class: kind, from, to } = step;
    const { steps } = this.kept.value;
    await this.set({
      steps: [
        ...steps,
        {
          id,
          class: kind,
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
        },
      ],
    });
  }

  async end(state: 'done' | 'failed', now: number, error?: unknown): Promise<PlanRecord> {
    await this.set({
      state,
      ended: now,
      ...(error === undefined ? {} : { error: error instanceof Error ? error.message : String(error) }),
    });
    return this.kept.value;
  }

  private async set(changes: Partial<Content>): Promise<void> {
    const { checksum: _, ...content } = this.kept.value;
    const entry = sealed({ ...content, ...changes }, this.previous);
    this.kept = await change(this.control, entry.number, this.kept, entry);
  }
}

async function change(
  control: ControlTable,
  number: number,
  before: Kept<PlanRecord> | undefined,
  entry: PlanRecord,
): Promise<Kept<PlanRecord>> {
  const kept = await control.change(entryRow(number), before, entry);
  if (kept !== undefined) return kept;
  throw new RowanError(
    'ERR_LOCKED',
    `Entry ${number} of the schema's history was written by another process, which took over the lock. Plan and apply again.`,
    { retryable: true },
  );
}
