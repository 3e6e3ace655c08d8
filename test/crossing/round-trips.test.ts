/** The requests that a write of a row sends one after the other, where one step is one row, as on HBase. */

import { expect, test } from 'vitest';
import { Column, Denormalized, Entity, Index, part, RowKey, Summary } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { RoundTrips } from '../proof/round-trips.js';
import { scaled } from '../proof/scale.js';
import { stepless } from '../proof/stepless.js';

@Entity({ table: { name: 'trips_teams', families: { d: {} } } })
@RowKey(part('id'))
class Team {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name!: string;
}

@Entity({ table: { name: 'trips_plain', families: { d: {} } } })
@RowKey(part('id'))
class Plain {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:t', text) team!: string;
}

@Entity({ table: { name: 'trips_indexed', families: { d: {} } } })
@RowKey(part('id'))
@Index('byTeam', [part('team')])
class Indexed {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byTeam: ['team'] };
  id!: string;
  @Column('d:t', text) team!: string;
}

@Entity({ table: { name: 'trips_eventual', families: { d: {} } } })
@RowKey(part('id'))
@Index('byTeam', [part('team')], { consistency: 'eventual' })
class Eventual {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byTeam: ['team'] };
  id!: string;
  @Column('d:t', text) team!: string;
}

@Entity({ table: { name: 'trips_unique', families: { d: {} } } })
@RowKey(part('id'))
class Unique {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byEmail: ['email'] };
  id!: string;
  @Index('byEmail', { unique: true }) @Column('d:e', text) email!: string;
}

@Entity({ table: { name: 'trips_counted', families: { d: {} } } })
@RowKey(part('id'))
@Summary('perTeam', { by: ['team'], figures: { members: 'count' } })
class Counted {
  declare static readonly key: ['id'];
  declare static readonly summaries: { perTeam: { by: ['team']; figures: { members: 'count' } } };
  id!: string;
  @Column('d:t', text) team!: string;
}

@Entity({ table: { name: 'trips_copying', families: { d: {} } } })
@RowKey(part('id'))
@Index('byTeam', [part('team')])
@Denormalized(() => Team, { via: 'team', fields: { teamName: 'name' }, fanOut: 10 })
class Copying {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byTeam: ['team'] };
  id!: string;
  @Column('d:t', text) team!: string;
  @Column('d:c', text) teamName?: string | null;
}

@Entity({
  table: { name: 'trips_watched', families: { d: {}, m: {} } },
  changes: { keep: 3600_000, marks: 'm' },
})
@RowKey(part('id'))
class Watched {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:t', text) team!: string;
}

@Entity({ table: { name: 'trips_all', families: { d: {}, m: {} } }, changes: { keep: 3600_000, marks: 'm' } })
@RowKey(part('id'))
@Index('byTeam', [part('team')])
@Denormalized(() => Team, { via: 'team', fields: { teamName: 'name' }, fanOut: 10 })
@Summary('perTeam', { by: ['team'], figures: { members: 'count', points: { sum: 'points' } } })
class Everything {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byTeam: ['team']; byEmail: ['email'] };
  declare static readonly summaries: {
    perTeam: { by: ['team']; figures: { members: 'count'; points: { sum: 'points' } } };
  };
  id!: string;
  @Index('byEmail', { unique: true }) @Column('d:e', text) email!: string;
  @Column('d:t', text) team!: string;
  @Column('d:p', int32) points!: number;
  @Column('d:c', text) teamName?: string | null;
}

const entities = [Team, Plain, Indexed, Eventual, Unique, Counted, Copying, Watched, Everything];
/** Rows of each kind. The first learns what the next assume, so the fewest round trips count. */
const ROWS = scaled(2, 4, 4);

/** Round trips of an insert, and of an update that changes every part of the row. docs/indexes-costs.md has the table. */
const EXPECTED = {
  plain: [1, 1],
  indexed: [3, 3],
  eventual: [1, 3],
  unique: [3, 3],
  counted: [1, 3],
  copying: [6, 6],
  watched: [4, 4],
  everything: [7, 7],
} as const;

test('a write of a row takes as many round trips as are documented, and no more', async () => {
  const trips = new RoundTrips(
    stepless(
      await openEmbedded('/memory', {
        fileSystem: new MemoryFileSystem(),
        background: 'inline',
        durability: 'ASYNC_WAL',
      }),
    ),
  );
  const db = new Database(compileSchema(entities), trips.engine, 'create');
  await db.ready();
  await db.repository(Team).putMany([
    { id: 'red', name: 'Red' },
    { id: 'blue', name: 'Blue' },
  ]);
  const fewest = async (write: (id: string) => Promise<unknown>): Promise<number> => {
    const counts: number[] = [];
    for (let i = 0; i < ROWS; i++) counts.push(await trips.count(() => write(`r${i}`)));
    return Math.min(...counts);
  };
  const is = { team: 'red', points: 1 };
  const next = { team: 'blue', points: 2 };
  const counted = {
    plain: [
      await fewest((id) => db.repository(Plain).put({ id, team: is.team })),
      await fewest((id) => db.repository(Plain).put({ id, team: next.team })),
    ],
    indexed: [
      await fewest((id) => db.repository(Indexed).insert({ id, team: is.team })),
      await fewest((id) => db.repository(Indexed).update({ id }, { team: next.team })),
    ],
    eventual: [
      await fewest((id) => db.repository(Eventual).insert({ id, team: is.team })),
      await fewest((id) => db.repository(Eventual).update({ id }, { team: next.team })),
    ],
    unique: [
      await fewest((id) => db.repository(Unique).insert({ id, email: `${id}@a` })),
      await fewest((id) => db.repository(Unique).update({ id }, { email: `${id}@b` })),
    ],
    counted: [
      await fewest((id) => db.repository(Counted).insert({ id, team: is.team })),
      await fewest((id) => db.repository(Counted).update({ id }, { team: next.team })),
    ],
    copying: [
      await fewest((id) => db.repository(Copying).insert({ id, team: is.team })),
      await fewest((id) => db.repository(Copying).update({ id }, { team: next.team })),
    ],
    watched: [
      await fewest((id) => db.repository(Watched).insert({ id, team: is.team })),
      await fewest((id) => db.repository(Watched).update({ id }, { team: next.team })),
    ],
    everything: [
      await fewest((id) => db.repository(Everything).insert({ id, email: `${id}@a`, ...is })),
      await fewest((id) => db.repository(Everything).update({ id }, { email: `${id}@b`, ...next })),
    ],
  };
  expect(counted).toEqual(EXPECTED);
  await db.close();
});
