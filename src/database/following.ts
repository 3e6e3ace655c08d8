/** All that follows the rows of an open database beside their indexes: copies, referential rules, summaries. */

import { SchemaError, UnsupportedError } from '../errors.js';
import { type CopyHandle, Copying, type CopyingSource } from '../features/copies/handle.js';
import type { Indexing } from '../features/indexes/indexing.js';
import { type Outbox, RemoteOutbox } from '../features/outbox.js';
import { type ReferenceHandle, Referencing } from '../features/relations/handle.js';
import { Summarizing } from '../features/summaries/handle.js';
import {
  type ChangeExecutor,
  type ChangeParticipant,
  type CommittingTable,
  type FollowerContext,
  fenceRows,
  followingWith,
  OUTBOX_TABLE,
  RowFollowing,
  readingFrom,
  type StepReading,
} from '../repository/index.js';
import type { AdoptedSchema, Schema } from '../schema/index.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';

/** What follows rows, as its database makes it. */
export interface FollowingSource extends CopyingSource {
  /** What applies the changes of an entity. */
  executorOf(entity: EntitySchema): ChangeExecutor;
}

export class Following {
  /** What is still to follow writes. */
  readonly outbox: Outbox;
  /** Reads in a step of the engine, or, where there is none, one after the other. */
  readonly reading: StepReading;
  readonly copying: Copying;
  readonly referencing: Referencing;
  readonly summarizing: Summarizing;

  /** On HBase: what follows the rows of each entity. */
  private readonly byEntity = new Map<string, RowFollowing>();
  private readonly remote: RemoteOutbox | undefined;

  constructor(
    private readonly source: FollowingSource,
    private readonly indexing: Indexing,
  ) {
    const { engine } = source;
    this.copying = new Copying(source);
    const isRemote = !('atomic' in engine.table(OUTBOX_TABLE));
    this.remote = isRemote
      ? new RemoteOutbox({
          engine,
          followingOf: (entity) => this.byEntity.get(entity),
          onFailure: (error) => source.onFailure(error),
        })
      : undefined;
    this.outbox = this.remote ?? this.copying;
    this.reading = isRemote
      ? readingFrom((name) => engine.table(name))
      : (run) => (engine.table(OUTBOX_TABLE) as CommittingTable).atomic(run);
    this.referencing = new Referencing(source.engine, source.schemaOf, indexing);
    const { schemaOf } = source;
    this.summarizing = new Summarizing({
      engine,
      schemaOf,
      indexing,
      reading: this.reading,
      outbox: this.remote,
    });
  }

  /** Takes over what is declared. @throws UnsupportedError where the engine cannot follow. */
  adopt(schema: AdoptedSchema): void {
    for (const entity of schema.entities) {
      const what = this.remote && unfollowed(entity);
      if (what === undefined) continue;
      throw new UnsupportedError(
        `${entity.name} has summaries (@Summary) and ${what}, which do not go together on HBase. Leave one of them out there.`,
        { details: { entity: entity.name } },
      );
    }
    this.copying.adopt(schema);
    this.referencing.adopt(schema);
    this.summarizing.adopt(schema);
    this.byEntity.clear();
    for (const { target, name } of schema.entities) {
      const following = this.remote && this.followingOf(this.source.schemaOf(target));
      if (following !== undefined) this.byEntity.set(name, following);
    }
  }

  /** On HBase what follows the rows of an entity; undefined: nothing does. */
  of({ name }: EntitySchema): RowFollowing | undefined {
    return this.byEntity.get(name);
  }

  private followingOf(schema: EntitySchema): RowFollowing | undefined {
    const { engine, onFailure } = this.source;
    const source = this.stepSource();
    const followers = [
      ...this.referencing.followers(schema, source),
      ...this.copying.followers(schema, source),
      ...this.summarizing.followers(schema),
    ];
    if (followers.length === 0) return undefined;
    return new RowFollowing({
      schema,
      followers,
      table: engine.table(schema.table.descriptor.name),
      outbox: engine.table(OUTBOX_TABLE),
      now: () => engine.now(),
      reading: this.reading,
      onLeft: (token) => this.remote!.take(token),
      onFailure,
    });
  }

  /** @throws QueryError when the entity has no rules. */
  references(schema: EntitySchema): ReferenceHandle {
    const { reading, isRemote, outbox } = this;
    const mend = (row: Uint8Array) => this.referencing.mend(schema, row, this.stepSource());
    const rows = isRemote ? { remote: { reading, mend } } : { flow: this.source.flow() };
    return this.referencing.handle(schema, rows, outbox);
  }

  private stepSource(): FollowerContext {
    const { engine, executorOf } = this.source;
    const now = (): number => engine.now();
    return {
      reading: this.reading,
      following: followingWith(executorOf),
      fence: (entity, rows) => fenceRows(engine.table(entity.table.descriptor.name), entity, rows, now),
      now,
    };
  }

  /** @throws QueryError when the entity has no copies. */
  copies(schema: EntitySchema): CopyHandle {
    const { reading } = this;
    const mend = (row: Uint8Array) => this.copying.mend(schema, row, this.stepSource());
    const rows = this.isRemote ? { reading, mend } : undefined;
    return this.copying.handle(schema, this.indexing, this.outbox, rows);
  }

  /** Whether the engine has no steps over rows. */
  get isRemote(): boolean {
    return this.remote !== undefined;
  }

  /** @throws SchemaError when an entity that is added follows one that may have been written to without it. */
  checkAdded(before: Schema, { entities }: Schema): void {
    const problems: string[] = [];
    for (const entity of entities) {
      if (before.has(entity.target)) continue;
      for (const from of namedBy(entity)) {
        if (!before.has(from)) continue;
        problems.push(
          `${entity.name} has ${followed(entity)} about ${from.name}, which is open already and would not be followed: pass both to open().`,
        );
      }
    }
    if (problems.length > 0) throw new SchemaError(problems.join('\n'), problems);
  }

  /** @throws UnsupportedError on an entity in another table than the declared one. */
  refuseElsewhere(schema: EntitySchema): void {
    if (this.participants(schema).length === 0) return;
    throw new UnsupportedError(
      `${schema.name} has copies, referential rules or summaries, or others have them about it, which are followed in its declared table only. Declare a class without them for repositoryIn().`,
      { details: { entity: schema.name } },
    );
  }

  participants(schema: EntitySchema): ChangeParticipant[] {
    return [
      ...this.referencing.participants(schema),
      ...this.copying.participants(schema),
      ...this.summarizing.participants(schema),
    ];
  }
}

/** What an entity declares that follows rows, in words. */
function followed({
  copies,
  references,
  summaries,
}: Pick<EntitySchema, 'copies' | 'references' | 'summaries'>): string | undefined {
  const what = [
    ...(copies.length > 0 ? ['copies (@Denormalized)'] : []),
    ...(references.length > 0 ? ['referential rules (onDelete, exists)'] : []),
    ...(summaries.length > 0 ? ['summaries (@Summary)'] : []),
  ];
  return what.length === 0 ? undefined : what.join(' and ');
}

/** What keeps summaries of it from being kept on HBase: nobody writes there when a row ends. */
function unfollowed({ summaries, timeToLive, marker }: EntitySchema): string | undefined {
  if (summaries.length === 0) return undefined;
  if (timeToLive.lifelong) return 'a ttl';
  return marker === undefined ? 'no marker (marker: false)' : undefined;
}

function namedBy({ copies, references }: EntitySchema): EntityClass[] {
  return [...copies, ...references].map(({ target }) => target());
}
