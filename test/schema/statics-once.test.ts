/** Indexes and summaries said once, in statics, are those of `@Index` and `@Summary` to the byte. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  Column,
  Entity,
  Index,
  index,
  part,
  RowKey,
  reverseTimestamp,
  rowKey,
  Summary,
  salt,
  summary,
  uniqueIndex,
} from '../../decorators/index.js';
import { date, int32, text } from '../../src/codec/index.js';
import type { RowanError } from '../../src/errors.js';
import { desc } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openMemory } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';

const table = { name: 'statics', families: { d: {} } };
const definition = {
  by: ['status'],
  figures: { orders: 'count', total: { sum: 'total' }, last: { max: 'placedAt' } },
  where: { status: 'open' },
} as const;

@Entity({ table, name: 'Order' })
@RowKey(part('id'))
@Index('byStatus', [part('status'), reverseTimestamp('placedAt')], { include: ['total'] })
@Index('byTotal', [salt(4), part('total', desc(int32))], { where: { status: 'open' } })
@Summary('perStatus', definition)
class Above {
  declare static readonly key: ['id'];
  declare static readonly indexes: {
    byEmail: ['email'];
    byStatus: ['status', 'placedAt'];
    byTotal: ['total'];
  };
  declare static readonly summaries: { perStatus: typeof definition };
  id!: string;
  @Index('byEmail', { unique: true }) @Column('d:e', text) email?: string | null;
  @Column('d:s', text) status!: string;
  @Column('d:p', date) placedAt!: Date;
  @Column('d:t', int32) total!: number;
}

@Entity({ table, name: 'Order' })
class Once {
  static readonly key = rowKey('id');
  static readonly indexes = {
    byStatus: index('status', reverseTimestamp('placedAt'), { include: ['total'] }),
    byTotal: index(salt(4), part('total', desc(int32)), { where: { status: 'open' } }),
    byEmail: uniqueIndex('email'),
  };
  static readonly summaries = { perStatus: summary(definition) };
  id!: string;
  @Column('d:e', text) email?: string | null;
  @Column('d:s', text) status!: string;
  @Column('d:p', date) placedAt!: Date;
  @Column('d:t', int32) total!: number;
}

const compiled = (target: abstract new (...args: never[]) => object) =>
  compileSchema([target as never]).entities[0]!;
const laidOut = (target: abstract new (...args: never[]) => object) =>
  compiled(target)
    .indexes.map(({ name, id, signature, layout }) => [name, id, signature, layout.signature] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));

describe('statics', () => {
  it('give the indexes and summaries of the decorators, to the byte', () => {
    expect(laidOut(Once)).toEqual(laidOut(Above));
    const summariesOf = (target: typeof Once | typeof Above) =>
      compiled(target).summaries.map(({ name, signature }) => [name, signature]);
    expect(summariesOf(Once)).toEqual(summariesOf(Above));
    expect(compiled(Once).key.signature).toBe(compiled(Above).key.signature);
    expect(compiled(Once).table.signature).toBe(compiled(Above).table.signature);
  });

  it('take a bare name for part(name), wherever it stands', () => {
    const names = fc.uniqueArray(fc.constantFrom('status', 'placedAt', 'total', 'email'), { minLength: 1 });
    fc.assert(
      fc.property(names, fc.infiniteStream(fc.boolean()), fc.boolean(), (parts, bare, unique) => {
        const given = parts.map((name) => (bare.next().value ? name : part(name)));
        const make = unique ? uniqueIndex : index;
        class Named extends Once {
          static override readonly indexes = { one: make(...given) } as never;
        }
        Entity({ table, name: 'Order' })(Named);
        class Listed extends Above {}
        Index('one', parts.map((name) => part(name)) as never, { unique })(Listed as never);
        Entity({ table, name: 'Order' })(Listed as never);
        const oneOf = (target: typeof Named | typeof Listed) =>
          laidOut(target).find(([name]) => name === 'one');
        expect(oneOf(Named)).toEqual(oneOf(Listed));
      }),
      { numRuns: scaled(15, 50, 50) },
    );
  });

  it('are asked as others are', async () => {
    await using db = await openMemory({ entities: [Once] });
    const orders = db.repository(Once);
    await orders.put({ id: 'a', email: 'a@x', status: 'open', placedAt: new Date(5), total: 7 });
    await orders.put({ id: 'b', email: 'b@x', status: 'open', placedAt: new Date(6), total: 8 });
    expect((await orders.by('byEmail').find({ email: 'a@x' }).first())?.id).toBe('a');
    const newest = await orders.by('byStatus').find({ status: 'open' }).select('total').all();
    expect(newest.map(({ id, total }) => [id, total])).toEqual([
      ['b', 8],
      ['a', 7],
    ]);
    const group = await db.summary(Once, 'perStatus').get({ status: 'open' });
    expect(group).toEqual({ status: 'open', orders: 2, total: 15, last: new Date(6) });
    const twice = orders.put({ id: 'c', email: 'a@x', status: 'open', placedAt: new Date(7), total: 1 });
    await expect(twice).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  });

  it('refuse what no class has, where the compiler was not asked', () => {
    class Misspelt {
      static readonly key = rowKey('id');
      static readonly indexes = { byStatus: index('staus') };
      static readonly summaries = { all: summary({ by: ['staus'], figures: { rows: 'count' } }) };
      id!: string;
      status!: string;
    }
    Column('d:s', text)(Misspelt.prototype, 'status');
    Entity({ table })(Misspelt as never);
    expect(() => compileSchema([Misspelt as never])).toThrow(
      /The index "byStatus": The entity has no column "staus"\. Index one of id, status/,
    );
    expect(() => compileSchema([Misspelt as never])).toThrow(/staus/);
    expect(() => index()).toThrow(/index\(\) names no property\. Write: index\('status'\)/);
    expect(() => index(5 as never)).toThrow(/index\(\) takes names of properties and elements/);
    expect(() => uniqueIndex({ include: ['a'] } as never)).toThrow(/uniqueIndex\(\) names no property/);
    expect(() => summary('status' as never)).toThrow(/summary\(\) takes/);
  });

  it('are refused as plain objects, the form of defineEntity, which declare nothing in a class', () => {
    class Plain {
      static readonly key = rowKey('id');
      static readonly indexes = { byStatus: { on: [part('status')] } };
      static readonly summaries = { all: { by: [], figures: { rows: 'count' } } };
      id!: string;
      status!: string;
    }
    Column('d:s', text)(Plain.prototype, 'status');
    Entity({ table })(Plain as never);
    const compile = () => compileSchema([Plain as never]);
    expect(compile).toThrow(
      /"byStatus" as a plain object.*Write: static readonly indexes = \{ byStatus: index\('status'\) \}/s,
    );
    expect(compile).toThrow(/"all" as a plain object.*all: summary\(/s);
    class Unmade extends Plain {
      static override readonly indexes = [index('status')] as never;
      static override readonly summaries = { all: 'rows' } as never;
      static readonly copies = { city: { via: 'id' } };
    }
    Entity({ table })(Unmade as never);
    const unmade = () => compileSchema([Unmade as never]);
    expect(unmade).toThrow(/Its static indexes are an array, which declares nothing/);
    expect(unmade).toThrow(/"all" as "rows", which declares nothing/);
    expect(unmade).toThrow(/"city" as a plain object.*Write: static readonly copies = \{ city: copy\(/s);
    class Named extends Plain {
      static override readonly indexes = { byStatus: 'status' } as never;
      static override readonly summaries = {} as never;
    }
    Entity({ table })(Named as never);
    expect(() => compileSchema([Named as never])).toThrow(/"byStatus" as "status", which declares nothing/);
    // Beside the decorator it is the list that gives the types.
    class Listed {
      static readonly key = rowKey('id');
      static readonly indexes = { byStatus: ['status'] };
      static readonly summaries = { all: { by: [], figures: { rows: 'count' } } };
      id!: string;
      status!: string;
    }
    Column('d:s', text)(Listed.prototype, 'status');
    Index('byStatus', [part('status')])(Listed as never);
    Summary('all', { by: [], figures: { rows: 'count' } })(Listed as never);
    Entity({ table })(Listed as never);
    const { indexes, summaries } = compileSchema([Listed as never]).entities[0]!;
    expect([indexes[0]!.name, summaries[0]!.name]).toEqual(['byStatus', 'all']);
  });

  it('make defaults, of which a derived class replaces those of its base', async () => {
    let made = 0;
    @Entity({ table, name: 'Event' })
    class Event {
      static readonly key = rowKey('of', 'id');
      static readonly defaults = { id: () => `made ${++made}`, status: () => 'open' };
      of!: string;
      id!: string;
      @Column('d:s', text) status!: string;
      @Column('d:t', int32) total?: number | null;
    }
    @Entity({ table, name: 'Event' })
    class Closed extends Event {
      static override readonly defaults = { id: () => `also ${++made}`, status: () => 'closed' };
    }
    await using db = await openMemory({ entities: [Event] });
    const events = db.repository(Event);
    expect(await events.insert({ of: 'a' })).toEqual({ of: 'a', id: 'made 1', status: 'open' });
    await events.put({ of: 'a', status: 'put' });
    await events.putMany([{ of: 'a', status: 'of many' }]);
    await events.batch((batch) =>
      batch.put({ of: 'a', status: 'of a batch' }).insert({ of: 'b', id: 'own' }),
    );
    await events
      .insert(new Event())
      .catch((error: RowanError) => expect(error.message).toMatch(/"of" is undefined/));
    const stored = await events.find({ of: 'a' }).all();
    expect(stored.map(({ id, status }) => `${id}: ${status}`)).toEqual([
      'made 1: open',
      'made 2: put',
      'made 3: of many',
      'made 4: of a batch',
    ]);
    const { lifecycle } = compileSchema([Closed]).entity(Closed);
    const entity: Partial<Closed> = {};
    lifecycle.beforeWrite!(entity as never, 'insert', 0);
    expect(entity).toEqual({ id: 'also 6', status: 'closed' });
  });

  it('are refused as defaults that are no functions, or of what is no property', () => {
    const compiled = (defaults: unknown) => {
      class Wrong {
        static readonly key = rowKey('id');
        static readonly defaults = defaults as never;
        id!: string;
      }
      Entity({ table })(Wrong as never);
      return () => compileSchema([Wrong]);
    };
    expect(compiled({ id: 'a' })).toThrow(/Wrong\.id: Its default is "a", and is to be a function/);
    expect(compiled({ idd: () => 'a' })).toThrow(/Wrong\.idd: It has a default, but is no column/);
    expect(compiled(['id'])).toThrow(
      /Its static defaults are an array, which declares nothing.*static readonly defaults = \{ status: \(\) => 'open' \}/s,
    );
  });

  it('do not stand beside a decorator of the same name', () => {
    class Both extends Once {}
    Index('byStatus', [part('status')])(Both as never);
    Entity({ table, name: 'Order' })(Both);
    expect(() => compileSchema([Both])).toThrow(/"byStatus": Two indexes of the entity have this name/);
  });
});
