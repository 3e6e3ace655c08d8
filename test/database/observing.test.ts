/** What a database tells of its operations: `log`, `db.on('query')` and Node's diagnostics_channel, on both engines. */

import { channel } from 'node:diagnostics_channel';
import { afterEach, describe, expect, test } from 'vitest';
import { Column, Entity, Index, part, RowKey, Table } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { OperationEvent } from '../../src/query/index.js';
import { openMemory } from '../../src/testing/index.js';
import type { MemoryOptions } from '../../src/testing/open-memory.js';
import { ModelEngine } from '../model/engine.js';

@Table({ name: 'o_notes', families: { d: {} } })
class Notes {}

@Entity({ table: Notes })
@RowKey(part('user'), part('id'))
class Note {
  declare static readonly key: ['user', 'id'];
  declare static readonly indexes: { byTag: ['tag'] };
  user!: string;
  id!: string;
  @Index('byTag') @Column('d:t', text) tag!: string;
  @Column('d:n', int32) size?: number | null;
}

@Table({ name: 'o_memos', families: { d: {} } })
class Memos {}

/** For engines whose model has no tables of indexes. */
@Entity({ table: Memos })
@RowKey(part('user'), part('id'))
class Memo {
  declare static readonly key: ['user', 'id'];
  user!: string;
  id!: string;
  @Column('d:t', text) tag!: string;
  @Column('d:n', int32) size?: number | null;
}

const note = { user: 'ann', id: 'secret', tag: 'red', size: 1 };
const open: Database[] = [];
afterEach(async () => {
  for (const db of open.splice(0)) await db.close();
});

async function openNotes(options: Partial<MemoryOptions> = {}): Promise<Database> {
  const db = await openMemory({ entities: [Note], ...options });
  open.push(db);
  return db;
}

async function openRemote(): Promise<Database> {
  // Each call has a millisecond of its own: a put in that of a delete would be hidden by it, as on HBase.
  let now = 1;
  const db = new Database(
    compileSchema([Memo]),
    new ModelEngine({ now: () => now++, random: Math.random }),
    'create',
  );
  await db.ready();
  open.push(db);
  return db;
}

/** One of everything, with an outcome of each sort. */
async function useAll(db: Database, target: typeof Note | typeof Memo = Note): Promise<void> {
  const notes = db.repository(target as typeof Memo);
  await notes.put(note);
  await notes.putMany([note, { ...note, id: 'b' }]);
  await notes.insert(note).catch(() => undefined);
  await notes.update({ user: 'ann', id: 'b' }, { size: 3 });
  await notes.get({ user: 'ann', id: 'b' });
  await notes.get({ user: 'ann', id: 'none' });
  await notes.getMany([
    { user: 'ann', id: 'b' },
    { user: 'ann', id: 'c' },
  ]);
  await notes.exists({ user: 'ann', id: 'b' });
  await notes
    .find({ user: 'ann' })
    .where({ size: { gte: 2 } })
    .all();
  if (target === Note) await db.repository(Note).by('byTag').find({ tag: 'red' }).limit(1).all();
  for await (const one of notes.find({ user: 'ann' })) expect(one.user).toBe('ann');
  await notes.check({ user: 'ann', id: 'b' }, { size: 3 }).update({ size: 4 });
  await notes.delete({ user: 'ann', id: 'b' });
}

const told = ({ operation, plan, index, ranges, rows, error }: OperationEvent): unknown[] => [
  operation,
  plan,
  index ?? null,
  ranges,
  rows,
  error === undefined ? null : Reflect.get(error as object, 'code'),
];

const ALL = [
  ['put', 'point', null, 1, 1, null],
  ['put', 'points', null, 2, 2, null],
  ['insert', 'point', null, 1, 0, 'ERR_CONFLICT'],
  ['update', 'point', null, 1, 1, null],
  ['get', 'point', null, 1, 1, null],
  ['get', 'point', null, 1, 0, null],
  ['getMany', 'points', null, 2, 1, null],
  ['exists', 'point', null, 1, 1, null],
  ['all', 'range', null, 1, 1, null],
  // An entry and its row.
  ['all', 'range', 'byTag', 1, 2, null],
  ['iterate', 'range', null, 1, 2, null],
  ['update', 'point', null, 1, 1, null],
  ['delete', 'point', null, 1, 1, null],
];

describe("db.on('query')", () => {
  test.each([
    ['the embedded engine', Note, openNotes],
    ['an engine without steps', Memo, openRemote],
  ])('tells each operation of %s with its plan, rows and error', async (_, target, opened) => {
    const db = await opened();
    const expected = ALL.filter(([, , index]) => target === Note || index === null);
    const events: OperationEvent[] = [];
    const off = db.on('query', (event) => events.push(event));
    await useAll(db, target);
    expect(events.map(told)).toEqual(expected);
    for (const event of events) {
      expect(event).toMatchObject({ engine: db.engine.name, entities: [target.name] });
      expect(event.milliseconds).toBeGreaterThan(0);
    }
    expect(events[0]!.bytes).toBeGreaterThanOrEqual(7);
    expect(events[4]!.bytes).toBeGreaterThanOrEqual(7);
    off();
    await useAll(db, target);
    expect(events).toHaveLength(expected.length);
  });

  test('values stand in conditions only where they are asked for', async () => {
    const db = await openNotes();
    const events: OperationEvent[] = [];
    db.on('query', (event) => events.push(event));
    await useAll(db);
    for (const event of events) expect(event.conditions()).not.toMatch(/ann|secret|red|2/);
    expect(events[0]!.conditions()).toBe('user = ? and id = ?');
    expect(events[0]!.conditions({ values: true })).toBe('user = "ann" and id = "secret"');
    expect(events[8]!.conditions()).toBe('user = ? and size >= ?');
    expect(events[8]!.conditions({ values: true })).toBe('user = "ann" and size >= 2');
    expect(events[9]!.conditions({ values: true })).toBe('tag = "red"');
    expect(events[0]!.explain()).toBeUndefined();
    expect(events[9]!.explain()).toMatchObject({ index: { name: 'byTag' } });
  });

  test('tells of transactions, and a listener that throws does no harm', async () => {
    const db = await openNotes();
    const names: string[] = [];
    db.on('query', ({ operation }) => {
      names.push(operation);
      throw new Error('listener');
    });
    await db.transaction(async (tx) => {
      await tx.repository(Note).put(note);
      expect(await tx.repository(Note).get(note)).toMatchObject({ size: 1 });
    });
    expect(names).toEqual(['put', 'get']);
    expect(() => db.on('other' as never, () => undefined)).toThrow("'query'");
    expect(() => db.on('query', 1 as never)).toThrow('a function');
  });
});

test('diagnostics_channel is told when an operation begins and when it ends, with one object', async () => {
  const db = await openNotes();
  const begun: unknown[] = [];
  const ended: unknown[] = [];
  const start = (event: unknown): void => void begun.push(event);
  const end = (event: unknown): void => void ended.push(event);
  channel('rowan-orm:operation:start').subscribe(start);
  channel('rowan-orm:operation:end').subscribe(end);
  try {
    await useAll(db);
  } finally {
    channel('rowan-orm:operation:start').unsubscribe(start);
    channel('rowan-orm:operation:end').unsubscribe(end);
  }
  expect(ended.map((event) => told(event as OperationEvent))).toEqual(ALL);
  expect(begun.every((event, i) => event === ended[i])).toBe(true);
  expect(begun).toHaveLength(ALL.length);
  await db.repository(Note).get(note);
  expect(begun).toHaveLength(ALL.length);
});

describe('log', () => {
  test('writes a line for each operation, without values', async () => {
    const lines: string[] = [];
    const db = await openNotes({ log: { sink: (line) => lines.push(line) } });
    await useAll(db);
    expect(lines).toHaveLength(ALL.length);
    expect(lines.join('\n')).not.toMatch(/ann|secret|red,/);
    const plain = lines.map((line) => line.replace(/[\d.]+ ms/, '# ms').replace(/\d+ bytes?/, '# bytes'));
    expect(plain[0]).toBe(
      'rowan put Note where user = ? and id = ? on o_notes by point: 1 range, 1 row, # bytes, # ms',
    );
    expect(plain[2]).toMatch(/, failed: ERR_CONFLICT$/);
    expect(plain[9]).toContain('where tag = ? on o_notes by range of index byTag: 1 range');
  });

  test('params shows values; slowMs leaves out what was quicker, but no failures', async () => {
    const lines: string[] = [];
    const sink = (line: string): void => void lines.push(line);
    const db = await openNotes({ log: { params: true, slowMs: 1e9, sink } });
    await useAll(db);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^rowan insert Note where user = "ann" and id = "secret" on .*failed: Note .* exists already/,
    );
  });

  test.each([
    [{ slow: 1 }, 'slow'],
    [{ slowMs: -1 }, 'slowMs'],
    [{ params: 1 }, 'params'],
    [{ sink: 'x' }, 'sink'],
    ['yes', 'log is true or'],
  ])('refuses %j', async (log, message) => {
    await expect(openNotes({ log: log as never })).rejects.toThrow(message);
  });
});
