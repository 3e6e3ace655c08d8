import { expect, it } from 'vitest';
import { BeforePut, Column, defineTable, Entity, rowKey } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { part, recordType } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntitySubscriber } from '../../src/schema/index.js';
import { openMemory } from '../../src/testing/index.js';

const table = defineTable({ name: 'told', families: { d: {} } });

abstract class Base {
  static readonly key = rowKey(part('id'), recordType());
  id!: string;
  @Column('d:t', text) text?: string | null;
}
@Entity({ table, recordType: 1 })
class First extends Base {
  @BeforePut() own(): void {
    this.text = `${this.text}, own`;
  }
}
@Entity({ table, recordType: 2 })
class Second extends Base {}

class Recorder implements EntitySubscriber<Base> {
  readonly listensTo = Base;
  readonly told: string[] = [];
  async beforePut(entity: Base): Promise<void> {
    await null;
    if (entity.text === 'refused') throw new Error('no');
    entity.text = `${entity.text}, told`;
  }
  afterPut({ id }: Base): void {
    this.told.push(`put ${id}`);
  }
  beforeUpdate(entity: Base): void {
    entity.text = `${entity.text}, updated`;
  }
  afterUpdate({ id }: Base): void {
    this.told.push(`update ${id}`);
  }
  beforeDelete({ id }: Base): void {
    this.told.push(`deleting ${id}`);
  }
  afterDelete({ id }: Base): void {
    this.told.push(`delete ${id}`);
  }
  afterLoad({ id }: Base): void {
    this.told.push(`load ${id}`);
  }
}

it('subscribers are told behind the class, of every way of writing and reading', async () => {
  const recorder = new Recorder();
  const seconds: string[] = [];
  const ofSecond: EntitySubscriber<Second> = {
    listensTo: Second,
    afterPut: ({ id }) => void seconds.push(id),
  };
  await using db = await openMemory({ entities: [First], subscribers: [recorder] });
  const first = db.repository(First);
  const { told } = recorder;
  const since = (): string[] => told.splice(0);

  await first.put({ id: 'a', text: 'x' } as First);
  expect(await first.get({ id: 'a' })).toMatchObject({ text: 'x, own, told' });
  expect(since()).toEqual(['put a', 'load a']);
  await first.putMany([{ id: 'b' } as First, { id: 'c' } as First]);
  await first.batch((batch) => batch.insert({ id: 'd' } as First).delete({ id: 'b' }));
  expect(since()).toEqual(['put b', 'put c', 'deleting b', 'put d', 'delete b']);
  await first.update({ id: 'a' }, { text: 'y' });
  expect((await first.find({ id: 'a' }).all())[0]).toMatchObject({ text: 'y, updated' });
  expect(since()).toEqual(['update a', 'load a']);
  await expect(first.put({ id: 'e', text: 'refused' } as First)).resolves.toBeUndefined();
  expect(since()).toEqual(['put e']);

  await db.add(Second);
  const second = db.repository(Second);
  await expect(second.put({ id: 'e', text: 'refused' })).rejects.toThrow('no');
  expect(await second.exists({ id: 'e' })).toBe(false);
  expect(since()).toEqual([]);
  const rolledBack = db.transaction(async (tx) => {
    await tx.repository(Second).put({ id: 'f' });
    throw new Error('back');
  });
  await expect(rolledBack).rejects.toThrow('back');
  expect(since()).toEqual([]);
  await db.transaction((tx) => tx.repository(Second).put({ id: 'f' }));
  expect(since()).toEqual(['put f']);

  await using other = await openMemory({ entities: [First, Second], subscribers: [ofSecond, recorder] });
  await other.repository(First).put({ id: 'a' } as First);
  await other.repository(Second).put({ id: 'b' });
  expect(seconds).toEqual(['b']);
  expect(since()).toEqual(['put a', 'put b']);
});

it('subscribers that are none, or that are told of nothing, are refused', () => {
  const compile = (...subscribers: unknown[]) => compileSchema([First], undefined, subscribers as never);
  expect(() => compile(null)).toThrow(/subscribers\[0\]: It is null\. Give an object with hooks/);
  expect(() => compile({})).toThrow(/has no hook/);
  expect(() => compile({ afterPut: 'x' })).toThrow(/Its afterPut is "x"/);
  expect(() => compile({ listensTo: 'x', afterPut() {} })).toThrow(/listens to "x"/);
  expect(() => compile({ listensTo: Second, afterPut() {} })).toThrow(/listens to Second, which none/);
  expect(() => compileSchema([First], undefined, 'x' as never)).toThrow(/They are "x"/);
});
