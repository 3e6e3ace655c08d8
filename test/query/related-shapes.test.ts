/** `with` to any depth: paths and trees, on queries and on `get`. */

import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  Column,
  Entity,
  index,
  part,
  Reference,
  References,
  type Related,
  rowKey,
} from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { uint32 } from '../../src/key/index.js';
import { openTestDatabase, type TestDatabase } from './test-database.js';

const table = (name: string) => ({ name: `shapes_${name}`, families: { d: {} } });

@Entity({ table: table('teams') })
class Team {
  static readonly key = rowKey(part('team'));
  team!: string;
  @Column('d:t', text) town!: string;
}

@Entity({ table: table('people') })
class Person {
  static readonly key = rowKey(part('person'));
  static readonly indexes = { byEmail: index(part('email')) };
  person!: string;
  @Column('d:e', text) email!: string;
  @Column('d:t', text) teamOf?: string | null;
  @Column('d:n', int32) age?: number | null;
  @Reference(() => Team, { team: 'teamOf' }) team?: Related<Team> | null;
}

@Entity({ table: table('tasks') })
class Task {
  static readonly key = rowKey(part('project'), part('no', uint32));
  project!: string;
  no!: number;
  @Column('d:s', text) status!: string;
  @Column('d:p', text) doneBy?: string | null;
  @Reference(() => Person, { person: 'doneBy' }) doer?: Related<Person> | null;
}

@Entity({ table: table('projects') })
class Project {
  static readonly key = rowKey(part('project'));
  project!: string;
  @Column('d:l', text) ledBy!: string;
  @Column('d:x', text) extra?: string | null;
  @Reference(() => Person, { person: 'ledBy' }) leader?: Related<Person> | null;
  @References(() => Task, { project: 'project' }, { max: 3 }) tasks?: Related<Task[]>;
}

let db: TestDatabase;

beforeAll(async () => {
  db = await openTestDatabase([Team, Person, Task, Project]);
  await db.repository(Team).putMany([
    { team: 'red', town: 'Rome' },
    { team: 'blue', town: 'Bern' },
  ]);
  await db.repository(Person).putMany([
    { person: 'ann', email: 'ann@x', teamOf: 'red', age: 41 },
    { person: 'bob', email: 'bob@x', teamOf: 'blue' },
    { person: 'cyd', email: 'cyd@x' },
  ]);
  await db.repository(Project).putMany([
    { project: 'p1', ledBy: 'ann', extra: 'e' },
    { project: 'p2', ledBy: 'bob' },
    { project: 'p3', ledBy: 'nobody' },
  ]);
  await db.repository(Task).putMany([
    { project: 'p1', no: 1, status: 'open', doneBy: 'bob' },
    { project: 'p1', no: 2, status: 'done', doneBy: 'ann' },
    { project: 'p1', no: 3, status: 'open' },
    { project: 'p2', no: 1, status: 'open', doneBy: 'cyd' },
  ]);
});

afterAll(() => db.dispose());

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const NESTED = [
  {
    project: 'p1',
    ledBy: 'ann',
    extra: 'e',
    leader: { person: 'ann', email: 'ann@x', teamOf: 'red', age: 41, team: { team: 'red', town: 'Rome' } },
    tasks: [
      {
        project: 'p1',
        no: 1,
        status: 'open',
        doneBy: 'bob',
        doer: { person: 'bob', email: 'bob@x', teamOf: 'blue', team: { team: 'blue', town: 'Bern' } },
      },
      {
        project: 'p1',
        no: 2,
        status: 'done',
        doneBy: 'ann',
        doer: { person: 'ann', email: 'ann@x', teamOf: 'red', age: 41, team: { team: 'red', town: 'Rome' } },
      },
      { project: 'p1', no: 3, status: 'open', doer: null },
    ],
  },
  {
    project: 'p2',
    ledBy: 'bob',
    leader: { person: 'bob', email: 'bob@x', teamOf: 'blue', team: { team: 'blue', town: 'Bern' } },
    tasks: [
      {
        project: 'p2',
        no: 1,
        status: 'open',
        doneBy: 'cyd',
        doer: { person: 'cyd', email: 'cyd@x', team: null },
      },
    ],
  },
  { project: 'p3', ledBy: 'nobody', leader: null, tasks: [] },
];

it('follows paths and trees to any depth, by lookups and by a hash join, in all and in streams', async () => {
  for (const join of ['lookup', 'hash'] as const) {
    const projects = db.repository(Project).find({}, { fullScan: true, join });
    expect(plain(await projects.with('leader.team', 'tasks.doer.team').all())).toEqual(NESTED);
    const tree = projects.with({ leader: { team: true }, tasks: { with: { doer: { team: true } } } });
    expect(plain(await tree.all())).toEqual(NESTED);
    const streamed = [];
    for await (const project of tree) streamed.push(project);
    expect(plain(streamed)).toEqual(NESTED);
  }
});

it('reads of related entities what select, where, orderBy, reverse and limit leave', async () => {
  const [p1] = await db
    .repository(Project)
    .find({ project: 'p1' })
    .with({
      leader: { select: ['email'], team: { select: ['town'] } },
      tasks: { where: { status: 'open' }, reverse: true, select: ['status'] },
    })
    .all();
  expect(plain(p1)).toEqual({
    project: 'p1',
    ledBy: 'ann',
    extra: 'e',
    leader: { person: 'ann', email: 'ann@x', team: { team: 'red', town: 'Rome' } },
    tasks: [
      { project: 'p1', no: 3, status: 'open' },
      { project: 'p1', no: 1, status: 'open' },
    ],
  });
  const [first] = await db
    .repository(Project)
    .find({ project: 'p1' })
    .with({ tasks: { orderBy: ['status'], limit: 1, doer: true } })
    .all();
  expect(first?.tasks.map(({ no, doer }) => [no, doer?.person])).toEqual([[2, 'ann']]);
});

it('shares the instances of one entity, and completes each once over the batches of a hash join', async () => {
  const tasks = db.repository(Task).find({}, { fullScan: true, join: 'hash' });
  const seen = [];
  for await (const { doer } of tasks.with({ doer: { select: ['email'], team: true } })) seen.push(doer);
  // What only the relation needed is not in it.
  expect(plain(seen)).toEqual([
    { person: 'bob', email: 'bob@x', team: { team: 'blue', town: 'Bern' } },
    { person: 'ann', email: 'ann@x', team: { team: 'red', town: 'Rome' } },
    null,
    { person: 'cyd', email: 'cyd@x', team: null },
  ]);
});

it('comes with get, getMany, getOrThrow and findOne, each with a selection of columns', async () => {
  const projects = db.repository(Project);
  expect(plain(await projects.get({ project: 'p1' }, { with: ['leader.team', 'tasks.doer.team'] }))).toEqual(
    NESTED[0],
  );
  const chosen = await projects.getOrThrow({ project: 'p1' }, { select: ['extra'], with: { leader: true } });
  expect(chosen.leader?.email).toBe('ann@x');
  expect(Object.keys(chosen).sort()).toEqual(['extra', 'leader', 'project']);
  expect(plain(await projects.get({ project: 'p1' }, { select: ['extra'] }))).toEqual({
    project: 'p1',
    extra: 'e',
  });
  expect(await projects.get({ project: 'none' }, { with: { leader: true } })).toBeNull();
  const many = await projects.getMany([{ project: 'p2' }, { project: 'none' }, { project: 'p3' }], {
    select: ['ledBy'],
    with: { leader: { select: ['age'] } },
  });
  expect(plain(many)).toEqual([
    { project: 'p2', ledBy: 'bob', leader: { person: 'bob' } },
    null,
    { project: 'p3', ledBy: 'nobody', leader: null },
  ]);
  const person = await db.repository(Person).findOne({ email: 'ann@x' }, { with: { team: true } });
  expect(person?.team?.town).toBe('Rome');
});

it('explains every relation under its path', () => {
  const { related } = db.repository(Project).find({ project: 'p1' }).with('tasks.doer').explain();
  expect(related).toMatchObject([
    { property: 'tasks', entity: 'Task', kind: 'many' },
    { property: 'tasks.doer', entity: 'Person', kind: 'one', by: 'person = doneBy' },
  ]);
});

it('refuses what is no relation, and options that a relation cannot have', () => {
  const projects = db.repository(Project).find({ project: 'p1' });
  expect(() => projects.with('tasks.nobody' as never)).toThrow(/Task has no relation "nobody". It has doer/);
  expect(() => projects.with({ leader: { where: { age: 1 } } } as never)).toThrow(
    /Project.leader stands for one Person, and "where" is for lists/,
  );
  expect(() => projects.with({ tasks: { limit: -1 } })).toThrow(/limit takes a whole number/);
  expect(() => projects.with({ tasks: { where: { nope: 1 } } } as never)).toThrow(/nope/);
  expect(() => projects.with({ tasks: 'all' } as never)).toThrow(/Project.tasks is "all". Write true/);
  expect(() => projects.with({ select: ['extra'] } as never)).toThrow(/Options stand in the object/);
  expect(() => projects.with({})).toThrow(/names no relation/);
});

it('still throws where a list has more entities than its relation allows, and none was asked for by limit', async () => {
  await db.repository(Task).put({ project: 'p1', no: 4, status: 'late' });
  const query = db.repository(Project).find({ project: 'p1' });
  await expect(query.with('tasks').all()).rejects.toThrow(/more than 3/);
  expect((await query.with({ tasks: { limit: 4 } }).first())?.tasks).toHaveLength(4);
  await db.repository(Task).delete({ project: 'p1', no: 4 });
});

it('a query in place of its rows says so as JSON, and consoles print its plan', () => {
  const people = db.repository(Person);
  const queries = [
    people.find({ person: 'ann' }),
    people.find({ person: 'ann' }).with('team'),
    db.collection([Project], { project: 'p' }),
  ];
  for (const query of queries) {
    expect(() => JSON.stringify({ rows: query })).toThrow(
      /has read nothing yet\. Give it the rows: await query/,
    );
    expect(inspect(query)).toMatch(
      /^A query, which has read nothing yet: await its all\(\).*\npoint on shapes_/,
    );
  }
  expect(inspect({ found: people.where({ age: 7 }) })).toContain(
    'would read the whole table "shapes_people"',
  );
});
