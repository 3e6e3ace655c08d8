/** The handle of an index (`db.index(…)`): its state and jobs. */

import { toHex } from '../../bytes/index.js';
import { ConflictError, InvalidArgumentError, QueryError } from '../../errors.js';
import type { JobOutcome, JobRunOptions } from '../../job/index.js';
import type { IndexState } from '../../query/access.js';
import type { IndexSchema } from '../../schema/types.js';
import { describe } from '../../table/checks.js';
import type { Engine } from '../../table/index.js';
import { EntityIndexes } from './entity-indexes.js';
import type { IndexReport, IndexTarget, VerifyOptions } from './jobs/target.js';
import type { IndexAccess } from './query/access.js';
import { type IndexStanding, indexStanding, setIndexStanding } from './states.js';

/** The states of a database's indexes, and the queue of jobs that change them. */
export interface IndexKeeper {
  /** Resolves when the entries of answered writes are verified. */
  rest(): Promise<void>;
  stateOf(index: IndexSchema): IndexState | undefined;
  setState(index: IndexSchema, state: IndexState): void;
  /** Runs jobs with the same name one after another. */
  alone<T>(what: string, run: () => Promise<T>): Promise<T>;
  /** The notes of an eventual index. Undefined where entries are written with the rows. */
  notesOf(access: IndexAccess): WaitingNotes | undefined;
}

/** The notes of one entity's eventual indexes. */
export interface WaitingNotes {
  /** Processes the notes of the index at this position. @returns the number of notes. */
  drain(place: number): Promise<number>;
}

/** One index of an open database: its state, and jobs that build, verify, repair and drop it while writes continue. */
export class IndexHandle {
  private readonly index: IndexSchema;

  constructor(
    private readonly engine: Engine,
    private readonly indexing: IndexKeeper,
    private readonly access: IndexAccess,
    name: string,
  ) {
    const { schema, all } = access.indexes;
    const found = all.find(({ index }) => index.name === name);
    if (found === undefined) {
      throw new QueryError(
        `${schema.name} has no index ${describe(name)}. It has ${all.map(({ index }) => index.name).join(', ')}.`,
        { details: { entity: schema.name, index: name } },
      );
    }
    this.index = found.index;
  }

  /** Whether entries are written after the rows, in the background. */
  get eventual(): boolean {
    return this.index.eventual;
  }

  /** Undefined where the tables were opened with `tables: 'ignore'`, or `'verify'` before the index was built. */
  get state(): IndexState | undefined {
    return this.indexing.stateOf(this.index);
  }

  /**
   * Writes the entries of every row, then lets queries use the index. Resumes an unfinished run. Rows may be written
   * meanwhile.
   * @throws ConflictError when two rows have the same value in a unique index, or another program has disabled,
   * dropped or built it meanwhile.
   */
  build(run?: JobRunOptions): Promise<JobOutcome> {
    return this.alone(() => this.buildAlone(run));
  }

  private async buildAlone(run: JobRunOptions | undefined): Promise<JobOutcome> {
    const { state, build } = await this.standing();
    // A build from before the index was disabled is incomplete: rows were written or entries removed since.
    const now = state === 'disabled' ? build + 1 : build;
    const begun: IndexStanding = { state: state === 'active' ? 'active' : 'building', build: now };
    if (state !== 'active') await this.change(() => begun);
    const { buildIndex } = await import('./jobs/index-jobs.js');
    const outcome = await buildIndex(this.target(), { over: state === 'active' || now > 0, build: now }, run);
    await this.change((standing) => {
      if (standing.state === begun.state && standing.build === now) return { state: 'active', build: now };
      throw new ConflictError(
        `The index "${this.index.name}" was disabled, dropped or built by another program while it was built: it may lack what was ` +
          'written since. Build it again.',
        { details: { entity: this.access.indexes.schema.name, index: this.index.name } },
      );
    });
    return outcome;
  }

  /**
   * Brings an eventual index up to date. Resolves with the number of entries updated when none is left of those
   * pending at the call. Without it they are updated in the background, and after a crash at the next opening.
   * @throws InvalidArgumentError for an index whose entries are written with the rows.
   */
  async drain(): Promise<number> {
    const { indexes } = this.access;
    const { schema, all } = indexes;
    if (!this.index.eventual) {
      throw new InvalidArgumentError(
        `The index "${this.index.name}" of ${schema.name} is not eventual: its entries are written with the rows, and none waits. Leave out drain().`,
        { details: { entity: schema.name, index: this.index.name } },
      );
    }
    const notes = this.indexing.notesOf(this.access);
    if (notes !== undefined) return notes.drain(all.findIndex(({ index }) => index === this.index));
    await this.indexing.rest();
    const { drainIndex } = await import('./jobs/index-jobs.js');
    const { counters } = await drainIndex(this.target());
    return counters['entries'] ?? 0;
  }

  /** Compares rows and entries in both directions. Changes nothing. */
  async verify(options: VerifyOptions = {}): Promise<IndexReport> {
    const known = checked('verify', options);
    await this.indexing.rest();
    const { verifyIndex } = await import('./jobs/index-jobs.js');
    return verifyIndex(this.target(), false, known);
  }

  /** As `verify`, and corrects every entry. A second repair changes nothing. */
  async repair(options: VerifyOptions = {}): Promise<IndexReport> {
    const known = checked('repair', options);
    await this.indexing.rest();
    if (this.index.eventual) await this.drain();
    const { verifyIndex } = await import('./jobs/index-jobs.js');
    return verifyIndex(this.target(), true, known);
  }

  /**
   * Removes every entry. Queries cannot use the index until it is built again. To remove the index for good, remove
   * its declaration.
   */
  drop(run?: JobRunOptions): Promise<JobOutcome> {
    return this.alone(async () => {
      await this.change((standing) => ({ ...standing, state: 'disabled' }));
      const { dropEntries } = await import('./jobs/index-jobs.js');
      return dropEntries(this.engine, this.access.indexes.tableName, this.index.id, run);
    });
  }

  /** Runs builds and drops of an index one after another. */
  private alone<T>(run: () => Promise<T>): Promise<T> {
    return this.indexing.alone(toHex(this.index.id), run);
  }

  private async standing(): Promise<IndexStanding> {
    const known = await indexStanding(this.engine.admin, this.access.indexes.schema, this.index);
    return known ?? { state: 'building', build: 0 };
  }

  /** All indexes of a table share one metadata: concurrent changes would overwrite each other. */
  private change(to: (standing: IndexStanding) => IndexStanding): Promise<void> {
    return this.indexing.alone(`metadata of ${this.access.indexes.tableName}`, async () => {
      const standing = to(await this.standing());
      await setIndexStanding(this.engine.admin, this.access.indexes.schema, this.index, standing);
      this.indexing.setState(this.index, standing.state);
    });
  }

  private target(): IndexTarget {
    const { indexes } = this.access;
    const where = indexes.all.find(({ index }) => index === this.index)!.where;
    return {
      engine: this.engine,
      indexes: new EntityIndexes(indexes.schema, () => where, [this.index]),
    };
  }
}

/** @throws InvalidArgumentError when the sample is no share, or `settledAfter` is no time. */
function checked(doing: string, options: VerifyOptions): VerifyOptions {
  const { sample, settledAfter } = options;
  if (settledAfter !== undefined && !(Number.isSafeInteger(settledAfter) && settledAfter >= 0)) {
    throw new InvalidArgumentError(
      `${doing}: settledAfter is a number of milliseconds, 0 or more, not ${describe(settledAfter)}.`,
    );
  }
  if (sample === undefined || (typeof sample === 'number' && sample > 0 && sample <= 1)) return options;
  throw new InvalidArgumentError(`${doing}: sample is a share above 0 and up to 1, not ${describe(sample)}.`);
}
