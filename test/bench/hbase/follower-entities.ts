/**
 * Entities for counts and measurements of what follows a write on HBase: the same two columns with an index, a unique index, an
 * eventual index, a summary, copies, recorded changes, or none of them. Their tables are those of the process.
 */

import { Column, Denormalized, Entity, Index, part, RowKey, Summary } from '../../../decorators/index.js';
import { text } from '../../../src/codec/index.js';
import type { Database } from '../../../src/database.js';
import type { HBaseEngine } from '../../../src/hbase/engine.js';

const tableOf = (name: string) => ({ name: `followers_${name}_${process.pid}`, families: { d: {}, m: {} } });

@Entity({ table: tableOf('teams') })
@RowKey(part('id'))
export class Team {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name!: string;
}

@Entity({ table: tableOf('plain') })
@RowKey(part('id'))
class Plain {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:e', text) email!: string;
  @Column('d:t', text) team!: string;
}

@Entity({ table: tableOf('index') })
@RowKey(part('id'))
@Index('byEmail', [part('email')])
class Indexed {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byEmail: ['email'] };
  id!: string;
  @Column('d:e', text) email!: string;
  @Column('d:t', text) team!: string;
}

@Entity({ table: tableOf('eventual') })
@RowKey(part('id'))
@Index('byEmail', [part('email')], { consistency: 'eventual' })
class Eventual {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byEmail: ['email'] };
  id!: string;
  @Column('d:e', text) email!: string;
  @Column('d:t', text) team!: string;
}

@Entity({ table: tableOf('unique') })
@RowKey(part('id'))
@Index('byEmail', [part('email')], { unique: true })
class Unique {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byEmail: ['email'] };
  id!: string;
  @Column('d:e', text) email!: string;
  @Column('d:t', text) team!: string;
}

@Entity({ table: tableOf('summary') })
@RowKey(part('id'))
@Summary('perTeam', { by: ['team'], figures: { members: 'count' } })
class Counted {
  declare static readonly key: ['id'];
  declare static readonly summaries: { perTeam: { by: ['team']; figures: { members: 'count' } } };
  id!: string;
  @Column('d:e', text) email!: string;
  @Column('d:t', text) team!: string;
}

@Entity({ table: tableOf('copies') })
@RowKey(part('id'))
@Index('byTeam', [part('team')])
@Denormalized(() => Team, { via: 'team', fields: { teamName: 'name' }, fanOut: 10_000 })
class Copying {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byTeam: ['team'] };
  id!: string;
  @Column('d:e', text) email!: string;
  @Column('d:t', text) team!: string;
  @Column('d:c', text) teamName?: string | null;
}

@Entity({ table: tableOf('changes'), changes: { keep: 3600_000, marks: 'm' } })
@RowKey(part('id'))
class Watched {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:e', text) email!: string;
  @Column('d:t', text) team!: string;
}

/** The kinds of entities, by what follows a write of them. */
export const KINDS = {
  plain: Plain,
  index: Indexed,
  'eventual index': Eventual,
  unique: Unique,
  summary: Counted,
  copies: Copying,
  changes: Watched,
} as const;
export type Kind = keyof typeof KINDS;

export type Repository = ReturnType<typeof repositoryOf>;

const TEAMS = 200;
let next = 0;

/** All kinds have the columns of the plain one. */
export function repositoryOf(db: Database, kind: Kind) {
  return db.repository(KINDS[kind] as typeof Plain);
}

/** A row that is not there yet. */
export function newRow(): Plain {
  const n = next++;
  return { id: `${(n * 7919) % 1000003}-${n}`, email: `${n}@example.org`, team: `t${n % TEAMS}` };
}

/** Resolves when all is done that follows the answered writes of a kind. */
export async function followed(db: Database, kind: Kind): Promise<void> {
  if (kind === 'summary') await db.summary(Counted, 'perTeam').get({ team: '' });
  // Beneath the public interface, where all that waits also reads tables.
  else await db['wiring'].contexts.rest();
}

export async function putTeams(db: Database): Promise<void> {
  await db
    .repository(Team)
    .putMany(Array.from({ length: TEAMS }, (_, i) => ({ id: `t${i}`, name: `Team ${i}` })));
}

/** Requests of the engine so far. */
export function requestsOf({ engine }: Database): number {
  let calls = 0;
  for (const { methods } of Object.values((engine as HBaseEngine).metrics().servers))
    for (const { calls: own } of Object.values(methods)) calls += own;
  return calls;
}

export async function dropTables({ engine: { admin } }: Database): Promise<void> {
  for (const { name } of await admin.listTables()) {
    if (!name.startsWith('followers_') || !name.includes(`_${process.pid}`)) continue;
    await admin.disableTable(name);
    await admin.deleteTable(name);
  }
}
