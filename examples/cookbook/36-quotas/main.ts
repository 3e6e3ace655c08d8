/** Quotas of tenants: a number of projects, and a number of calls in a minute. */

// #region entity
import {
  Column,
  Counter,
  date,
  Entity,
  int32,
  newUlid,
  part,
  recordType,
  rowKey,
  salt,
  Table,
  text,
  timeBucket,
  ulid,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:saas', families: { d: {} }, presplit: { regions: 4 } })
class Saas {}

@Entity({ table: Saas, recordType: 1 })
class Account {
  static readonly key = rowKey(salt(4, ['tenant']), part('tenant', text), recordType());
  tenant!: string;
  @Column('d:m', int32) maxProjects!: number;
  @Column('d:c', int32) callsPerMinute!: number;
  @Counter('d:n') projects?: bigint;
}

@Entity({ table: Saas, recordType: 2 })
class Project {
  static readonly key = rowKey(salt(4, ['tenant']), part('tenant', text), recordType(), part('id', ulid));
  tenant!: string;
  id!: string;
  @Column('d:t', text) name!: string;
}

/** The calls of a tenant in one minute. The row expires by itself. */
@Entity({ table: Saas, recordType: 3, ttl: 120_000 })
class Calls {
  static readonly key = rowKey(
    salt(4, ['tenant']),
    part('tenant', text),
    recordType(),
    timeBucket('minute', '1m', { unit: 's' }),
  );
  tenant!: string;
  @Column('d:s', date) minute!: Date;
  @Counter('d:n') calls?: bigint;
}
// #endregion

await using recipe = await openRecipe([Account, Project, Calls]);
const accounts = recipe.db.repository(Account);
const projects = recipe.db.repository(Project);
const calls = recipe.db.repository(Calls);
await accounts.put({ tenant: 't1', maxProjects: 2, callsPerMinute: 3 });
const minute = new Date(Date.UTC(2026, 0, 1, 12, 0));

recipe.section('keys');
recipe.key(Account, { tenant: 't1' });
recipe.key(Calls, { tenant: 't1', minute });

recipe.section('queries');
// #region queries
/** Counts a project, if the tenant may have one more. The check and the count are one step. */
async function claim(tenant: string, max: number): Promise<boolean> {
  const free = { projects: { lt: BigInt(max) } };
  return (await accounts.check({ tenant }, free).mutate((row) => row.increment({ projects: 1n }))).ok;
}

async function createProject(tenant: string, name: string): Promise<boolean> {
  const account = await accounts.get({ tenant });
  if (account === null || !(await claim(tenant, account.maxProjects))) return false;
  await projects.insert({ tenant, id: newUlid(), name });
  return true;
}
await accounts.increment({ tenant: 't1' }, { projects: 0n }); // A check fails where there is no value yet.
const made = await Promise.all(['site', 'shop', 'blog'].map((name) => createProject('t1', name)));
recipe.print(`> three projects at once, two allowed: ${made.filter(Boolean).length} made`);

/** Whether the tenant may make one more call in this minute. */
async function mayCall(tenant: string, now: Date, limit: number): Promise<boolean> {
  const { calls: count } = await calls.increment({ tenant, minute: now }, { calls: 1n });
  return count! <= BigInt(limit);
}
const answers: boolean[] = [];
for (let call = 0; call < 4; call++) answers.push(await mayCall('t1', minute, 3));
recipe.print(`> four calls, three allowed: ${answers.join(', ')}`);
await recipe.show('A tenant with its use', accounts.find({ tenant: 't1' }));
recipe.print(`> its projects: ${await projects.find({ tenant: 't1' }).count()}`);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:saas');
