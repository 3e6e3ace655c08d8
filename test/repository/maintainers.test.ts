/** Rows that follow others: what takes part in writes, on the embedded engine. */

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Column, Entity, part, RowKey, Table, Version } from '../../decorators/index.js';
import { toLatin1 } from '../../src/bytes/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { InvalidArgumentError } from '../../src/errors.js';
import { compileSchema } from '../../src/mapper/index.js';
import {
  type ChangeImage,
  EmbeddedExecutor,
  Repository,
  type RowEffect,
  type StepMaintainer,
} from '../../src/repository/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { Delete, Put, Scan, type StepTable, tableDescriptor } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';

@Table({ name: 'notes', families: { d: {} } })
class Notes {}

@Entity({ table: Notes })
@RowKey(part('id'))
class Note {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:s', text) state?: string | null;
  @Version('d:v', int32) version?: number;
}

/** One row for each note that has a state: the state, then the row of the note. */
const STATE = Buffer.from('s');

class ByState implements StepMaintainer {
  readonly name = 'by-state';
  readonly seen: ChangeImage[] = [];

  effects(change: ChangeImage): readonly RowEffect[] {
    this.seen.push(change);
    const before = change.before.value('d', STATE);
    const after = change.after.value('d', STATE);
    if (after !== undefined && toLatin1(after) === 'refused') {
      throw new InvalidArgumentError('Notes are not to be refused.');
    }
    if (after !== undefined && toLatin1(after) === 'broken') throw new Error('broken');
    if (before !== undefined && after !== undefined && Buffer.compare(before, after) === 0) return [];
    const out: RowEffect[] = [];
    if (before !== undefined) out.push({ table: 'states', mutation: new Delete(this.rowOf(before, change)) });
    if (after !== undefined) {
      out.push({
        table: 'states',
        mutation: new Put(this.rowOf(after, change)).addColumn('d', Buffer.from('q'), Buffer.from('1')),
      });
    }
    return out;
  }

  private rowOf(state: Uint8Array, { row }: ChangeImage): Uint8Array {
    return Buffer.concat([state, Buffer.from('/'), row]);
  }
}

let database: Database<EmbeddedEngine>;
let notes: Repository<typeof Note>;
let maintainer: ByState;

beforeEach(async () => {
  database = await openMemory({ entities: [Note] });
  await database.admin.createTable(tableDescriptor('states', { d: {} }));
  const table = database.engine.table('notes');
  maintainer = new ByState();
  const executor = new EmbeddedExecutor(table as StepTable, [maintainer]);
  const access = { table, sync: undefined };
  notes = new Repository<typeof Note>(compileSchema([Note]).entity(Note), {
    access,
    executor,
    putsAlone: false,
    deferred: undefined,
    now: Date.now,
  });
});
afterEach(() => database.close());

/** The rows that follow, as texts. */
async function states(): Promise<string[]> {
  const rows: string[] = [];
  for await (const { row } of database.engine.table('states').scan(new Scan())) {
    rows.push(Buffer.from(row!).toString());
  }
  return rows;
}

/** What should stand there, by what is stored. */
async function wanted(): Promise<string[]> {
  const rows: string[] = [];
  for await (const { id, state } of notes.find({}, { fullScan: true })) {
    if (state !== undefined && state !== null) rows.push(`${state}/${id}`);
  }
  return rows.sort();
}

describe('a maintainer of writes', () => {
  test('put, update, replace, mutate and delete take its rows along', async () => {
    await notes.put({ id: 'a', state: 'new' });
    expect(await states()).toEqual(['new/a']);
    await notes.update({ id: 'a' }, { state: 'open' });
    expect(await states()).toEqual(['open/a']);
    await notes.mutate({ id: 'a' }, (row) => row.set({ state: 'done' }));
    expect(await states()).toEqual(['done/a']);
    const note = (await notes.get({ id: 'a' }))!;
    delete note.state;
    await notes.replace(note);
    expect(await states()).toEqual([]);
    note.state = 'again';
    await notes.put(note);
    expect(await states()).toEqual(['again/a']);
    await notes.delete({ id: 'a' });
    expect(await states()).toEqual([]);
    expect(maintainer.seen.map(({ operation }) => operation)).toEqual([
      'put',
      'update',
      'mutate',
      'replace',
      'put',
      'delete',
    ]);
  });

  test('a change that is not made takes nothing along', async () => {
    await notes.put({ id: 'a', state: 'new' });
    await expect(notes.insert({ id: 'a', state: 'other' })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    await expect(notes.put({ id: 'a', state: 'other', version: 9 })).rejects.toMatchObject({
      code: 'ERR_CONFLICT',
    });
    await expect(notes.update({ id: 'b' }, { state: 'other' })).rejects.toMatchObject({
      code: 'ERR_NOT_FOUND',
    });
    expect((await notes.check({ id: 'a' }, { state: 'no' }).update({ state: 'other' })).ok).toBe(false);
    expect(await states()).toEqual(['new/a']);
    expect(maintainer.seen).toHaveLength(1);
  });

  test('what it throws keeps the change out, and only that one of a batch', async () => {
    await expect(notes.put({ id: 'a', state: 'refused' })).rejects.toThrow('not to be refused');
    await expect(notes.put({ id: 'a', state: 'broken' })).rejects.toThrow('broken');
    const outcomes = await notes.batch((batch) =>
      batch.put({ id: 'b', state: 'new' }).put({ id: 'c', state: 'refused' }).put({ id: 'd', state: 'new' }),
    );
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, true]);
    expect(await states()).toEqual(['new/b', 'new/d']);
    const atomic = notes.batch(
      (batch) => batch.put({ id: 'e', state: 'new' }).put({ id: 'f', state: 'refused' }),
      { atomic: true },
    );
    await expect(atomic).rejects.toThrow('not to be refused');
    expect(await states()).toEqual(['new/b', 'new/d']);
    expect(await wanted()).toEqual(['new/b', 'new/d']);
  });

  test('an atomic batch that changes a row several times is followed through all of them', async () => {
    await notes.put({ id: 'a', state: 'one' });
    maintainer.seen.length = 0;
    await notes.batch(
      (batch) =>
        batch
          .update({ id: 'a' }, { state: 'two' })
          .insert({ id: 'b', state: 'one' })
          .update({ id: 'a' }, { state: 'three' })
          .update({ id: 'a' }, { state: 'one' })
          .delete({ id: 'b' }),
      { atomic: true },
    );
    expect(await states()).toEqual(['one/a']);
    expect((await notes.get({ id: 'a' }))!.version).toBe(4);
    await notes.batch(
      (batch) => batch.update({ id: 'a' }, { state: 'two' }).update({ id: 'a' }, { state: 'four' }),
      { atomic: true },
    );
    expect(await states()).toEqual(['four/a']);
  });

  test('random writes at once: the rows that follow are those of what is stored', async () => {
    const id = fc.constantFrom('a', 'b', 'c');
    const state = fc.constantFrom('one', 'two', 'refused', null);
    const write = fc.record({ kind: fc.constantFrom('mutate', 'update', 'insert', 'delete'), id, state });
    const step = fc.record({ writes: fc.array(write, { minLength: 1, maxLength: 4 }), atomic: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
        const running = steps.map(({ writes, atomic }) =>
          notes.batch(
            (batch) => {
              for (const { kind, id, state } of writes) {
                if (kind === 'mutate') batch.mutate({ id }, (row) => row.set({ state }));
                else if (kind === 'update') batch.update({ id }, { state });
                else if (kind === 'insert') batch.insert({ id, state });
                else batch.delete({ id });
              }
              return batch;
            },
            { atomic },
          ),
        );
        await Promise.allSettled(running);
        expect(await states()).toEqual(await wanted());
      }),
      { numRuns: scaled(20, 60, 600) },
    );
  });
});
