import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Column, Entity, float64, Index, open, part, RowKey, Table, text } from '../../../src/index.js';
import { projectRoot } from '../orm/contestant.js';
import type { Account as AccountRow, Contestant, IndexedContestant } from './contestant.js';

@Table({ name: 'accounts', families: { d: {} } })
class Accounts {}

@Entity({ table: Accounts, name: 'Account' })
@RowKey(part('id'))
@Index('byPhone', [part('phone')], { include: ['balance'] })
class Account {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byEmail: ['email']; byPhone: ['phone'] };
  id!: string;
  @Index('byEmail') @Column('d:e', text) email!: string;
  @Column('d:p', text) phone!: string;
  @Column('d:n', text) name!: string;
  @Column('d:b', float64) balance!: number;
}

@Entity({ table: Accounts, name: 'Account' })
@RowKey(part('id'))
class PlainAccount {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:e', text) email!: string;
  @Column('d:p', text) phone!: string;
  @Column('d:n', text) name!: string;
  @Column('d:b', float64) balance!: number;
}

const manifest = readFileSync(join(projectRoot, 'package.json'), 'utf8');
const { version } = JSON.parse(manifest) as { version: string };
const SOON = { durability: 'ASYNC_WAL' } as const;

export async function openRowan(folder: string): Promise<IndexedContestant & { byKey(id: string): unknown }> {
  const database = await open({ path: folder, entities: [Account] });
  const accounts = database.repository(Account);
  return {
    name: 'rowan',
    version,
    insert: (rows: readonly AccountRow[], durable) => accounts.putMany(rows, durable ? undefined : SOON),
    get: (id) => accounts.get({ id }),
    byKey: (id) => accounts.find({ id }).first(),
    byEmail: (email) => accounts.by('byEmail').find({ email }).first(),
    byPhone: (phone) => accounts.by('byPhone').find({ phone }).select('balance').first(),
    close: () => database.close(),
  };
}

/** The same entity without its indexes. */
export async function openPlain(folder: string): Promise<Contestant> {
  const database = await open({ path: folder, entities: [PlainAccount] });
  const accounts = database.repository(PlainAccount);
  return {
    name: 'rowan without',
    version,
    insert: (rows: readonly AccountRow[], durable) => accounts.putMany(rows, durable ? undefined : SOON),
    get: (id) => accounts.get({ id }),
    close: () => database.close(),
  };
}

/** Declares the indexes over a table with rows, and builds them. Gives the milliseconds of each. */
export async function buildIndexes(folder: string): Promise<number[]> {
  const database = await open({ path: folder, entities: [Account] });
  try {
    const times: number[] = [];
    for (const name of ['byEmail', 'byPhone'] as const) {
      const started = performance.now();
      await database.index(Account, name).build();
      times.push(performance.now() - started);
    }
    return times;
  } finally {
    await database.close();
  }
}
