import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { compareBytes, toHex } from '../../src/bytes/index.js';
import {
  avro,
  avroCodec,
  bucket,
  Column,
  Columns,
  type Database,
  Denormalized,
  date,
  desc,
  Entity,
  hash,
  index,
  int32,
  int64,
  json,
  type Patch,
  part,
  Reference,
  References,
  rowKey,
  type ScalarCodec,
  salt,
  summary,
  type Transform,
  text,
  timeBucket,
  transformed,
  uniqueIndex,
  type ValueCodec,
  type Versioned,
  Versions,
} from '../../src/index.js';
import { compileKeyLayout } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openMemory } from '../../src/testing/open-memory.js';
import { inputSchema, parseQuery } from '../../src/validation/index.js';
import { scaled } from '../proof/scale.js';

/** Its fields are private: neither JSON nor comparisons of objects see them. */
class Money {
  readonly #cents: bigint;

  constructor(cents: bigint | number) {
    this.#cents = BigInt(cents);
  }

  get cents(): bigint {
    return this.#cents;
  }

  toString(): string {
    return `EUR ${this.#cents}`;
  }
}

class Email {
  readonly #address: string;

  private constructor(address: string) {
    this.#address = address;
  }

  static of(address: string): Email {
    if (!address.includes('@')) throw new TypeError(`${address} has no @`);
    return new Email(address);
  }

  toString(): string {
    return this.#address;
  }
}

/** A moment, as of `Temporal`. */
class Moment {
  constructor(readonly ms: number) {}

  toDate(): Date {
    return new Date(this.ms);
  }
}

interface Range {
  from: number;
  to: number;
}

const money = transformed(int64, {
  type: Money,
  to: ({ cents }) => cents,
  from: (cents) => new Money(cents),
});
const email = transformed(text, { type: Email, to: String, from: Email.of });
const moment = transformed(date, { to: (at: Moment) => at.toDate(), from: (at) => new Moment(at.getTime()) });
const range = transformed(json<[number, number]>(), {
  to: ({ from, to }: Range): [number, number] => [from, to],
  from: ([from, to]) => ({ from, to }),
});

const table = { name: 'accounts', families: { d: {}, m: {}, v: { versions: 3 } } };

@Entity({ table })
class Account {
  static readonly key = rowKey(
    part('owner', email),
    timeBucket('opened', '1d'),
    part('opened', desc(moment)),
  );
  static readonly indexes = {
    byBalance: index('balance', { include: ['contact'] }),
    byContact: uniqueIndex('contact'),
    rich: index('contact', { where: { balance: { gt: new Money(100) } } }),
    byOpened: index(part('balance', desc(money)), 'opened'),
  };
  static readonly summaries = {
    perBalance: summary({ by: ['balance'], figures: { rows: 'count', last: { max: 'contact' } } }),
  };
  owner!: Email;
  opened!: Moment;
  @Column('d:b', money) balance!: Money;
  @Column('d:c', email) contact?: Email | null;
  @Column('d:r', range) range?: Range | null;
  @Columns('m:', { key: email, value: money }) shares?: Map<Email, Money | null>;
  @Versions('v:p', money) past?: Versioned<Money>[];
  @References(() => Payment, { payer: 'owner' }) payments?: Payment[];
}

@Entity({ table: { name: 'payments', families: { d: {} } } })
@Denormalized(() => Person, { via: { email: 'payer' }, fields: { payerName: 'name', limit: 'limit' } })
class Payment {
  static readonly key = rowKey(part('payer', email), part('no', int32));
  payer!: Email;
  no!: number;
  @Column('d:a', money) amount!: Money;
  @Column('d:n', text) payerName?: string | null;
  @Column('d:l', money) limit?: Money | null;
  @Reference(() => Person, { email: 'payer' }) person?: Person | null;
}

@Entity({ table: { name: 'persons', families: { d: {} } } })
class Person {
  static readonly key = rowKey(part('email', email));
  email!: Email;
  @Column('d:n', text) name!: string;
  @Column('d:l', money) limit?: Money | null;
}

const ann = Email.of('ann@x');
const bob = Email.of('bob@x');
const day = (n: number): Moment => new Moment(n * 86_400_000 + 5);

let db: Database;

beforeAll(async () => {
  db = await openMemory({ entities: [Account, Payment, Person] });
  await db.repository(Person).putMany([
    { email: ann, name: 'Ann', limit: new Money(900) },
    { email: bob, name: 'Bob' },
  ]);
  await db.repository(Account).putMany([
    {
      owner: ann,
      opened: day(1),
      balance: new Money(500),
      contact: Email.of('a1@x'),
      range: { from: 1, to: 2 },
    },
    { owner: ann, opened: day(2), balance: new Money(-3), contact: Email.of('a2@x') },
    { owner: bob, opened: day(1), balance: new Money(500), shares: new Map([[ann, new Money(7)]]) },
  ]);
  await db.repository(Payment).putMany([
    { payer: ann, no: 1, amount: new Money(5) },
    { payer: ann, no: 2, amount: new Money(50) },
    { payer: bob, no: 1, amount: new Money(5) },
  ]);
});

afterAll(() => db.close());

const shown = (rows: readonly Account[]): string[] =>
  rows.map(({ owner, opened }) => `${owner} ${opened.ms}`);
const ANN1 = `ann@x ${day(1).ms}`;
const ANN2 = `ann@x ${day(2).ms}`;
const BOB1 = `bob@x ${day(1).ms}`;

describe('the codec', () => {
  it('has the bytes, order and name of the one below it', () => {
    const wanted = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(wanted, wanted, (a, b) => {
        expect(money.encode(new Money(a))).toEqual(int64.encode(a));
        expect(money.decode(money.encode(new Money(a))).cents).toBe(a);
        expect(desc(money).encode(new Money(a))).toEqual(desc(int64).encode(a));
        const order = compareBytes(money.encode(new Money(a)), money.encode(new Money(b)));
        expect(Math.sign(order)).toBe(a < b ? -1 : a > b ? 1 : 0);
      }),
      { numRuns: scaled(40, 1000, 10_000) },
    );
    expect([money.name, desc(money).name, range.name]).toEqual(['int64', 'desc(int64)', 'json']);
    expect(desc(desc(money)).encode(new Money(1))).toEqual(int64.encode(1n));
    expectTypeOf(money).toEqualTypeOf<ScalarCodec<Money>>();
    expectTypeOf(range).toEqualTypeOf<ValueCodec<Range>>();
  });

  it('may be transformed again, and use codecs itself', () => {
    const pair = transformed(money, {
      to: (value: readonly [Money]) => new Money(value[0].cents + BigInt(int32.encode(9).length - 4)),
      from: (value) => [value] as const,
    });
    expect(pair.encode([new Money(7)])).toEqual(int64.encode(7n));
    expect(pair.decode(int64.encode(7n))[0].cents).toBe(7n);
  });

  it('refuses values of another class, and what its functions refuse', () => {
    expect(() => money.encode(5n as never)).toThrow(
      /int64 cannot hold 5n: it must be an object of Money, of which the transform stores another form/,
    );
    expect(() => email.decode(text.encode('nobody'))).toThrow(
      /text cannot hold "nobody": `from` of its transform threw: nobody has no @/,
    );
    const none = transformed(text, { to: () => undefined as never, from: String });
    expect(() => none.encode('a')).toThrow(/`to` of its transform returned undefined/);
  });

  it('is refused where it is declared wrong', () => {
    const same: Transform<string, string> = { to: String, from: String };
    expect(() => transformed({} as ScalarCodec<string>, same)).toThrow(
      /transformed\(\): an object is no codec/,
    );
    expect(() => transformed(text, {} as Transform<string, string>)).toThrow(/Give \{ to:/);
    expect(() => transformed(avroCodec(avro.string), same)).toThrow(/takes no Avro codec/);
  });
});

describe('keys', () => {
  it('encode, decode and plan the stored values', () => {
    const layout = compileKeyLayout([part('owner', email), part('at', moment)], () => undefined);
    const plain = compileKeyLayout([part('owner', text), part('at', date)], () => undefined);
    const row = layout.encode({ owner: ann, at: day(3) });
    expect(row).toEqual(plain.encode({ owner: 'ann@x', at: day(3).toDate() }));
    expect(layout.decode(row)).toEqual({ owner: ann, at: day(3) });
    expect(layout.decodeLast(row)).toEqual(day(3));
    expect(layout.stored.decode(row)).toEqual({ owner: 'ann@x', at: day(3).toDate() });
    expect(layout.signature).toBe(plain.signature);
    expect(layout.plan({ owner: { kind: 'eq', value: 'ann@x' } }).ranges).toEqual(
      plain.plan({ owner: { kind: 'eq', value: 'ann@x' } }).ranges,
    );
    expect(() => layout.encode({ owner: 'ann@x', at: day(3) })).toThrow(
      /Key part "owner": text cannot hold "ann@x"/,
    );
  });

  it('have digests, salts, buckets and time buckets of the stored values', () => {
    const elements = (owner: ScalarCodec<unknown>, no: ScalarCodec<unknown>, at: ScalarCodec<unknown>) =>
      compileKeyLayout(
        [
          salt(4),
          hash(part('owner', owner)),
          bucket('no', 3),
          part('no', no),
          timeBucket('at', '1d'),
          part('at', at),
        ],
        () => undefined,
      );
    const layout = elements(email, money, moment);
    const plain = elements(text, int64, date);
    const row = layout.encode({ owner: ann, no: new Money(7), at: day(3) });
    expect(row).toEqual(plain.encode({ owner: 'ann@x', no: 7n, at: day(3).toDate() }));
    expect(Object.keys(layout.decode(row))).toEqual(Object.keys(plain.decode(row)));
    expect(layout.parts.map(({ codec }) => codec.name)).toEqual(plain.parts.map(({ codec }) => codec.name));
    expect(layout.splitPoints(4, { between: [ann, bob] })).toEqual(
      plain.splitPoints(4, { between: ['ann@x', 'bob@x'] }),
    );
  });

  it('are asked by value objects', async () => {
    const accounts = db.repository(Account);
    expect((await accounts.get({ owner: ann, opened: day(2) }))?.balance.cents).toBe(-3n);
    expect(shown(await accounts.find({ owner: ann }).all())).toEqual([ANN1, ANN2]);
    expect(shown(await accounts.find({ owner: { in: [ann, bob] }, opened: { gte: day(2) } }).all())).toEqual([
      ANN2,
    ]);
    expect(shown(await accounts.find({ owner: { startsWith: 'bo' as never } }).all())).toEqual([BOB1]);
    expect(() => accounts.find({ owner: 'ann@x' as never })).toThrow(
      /Key part "owner": text cannot hold "ann@x"/,
    );
    expect(String(accounts.find({ owner: ann, opened: { lt: day(2) } }).explain())).toContain(
      'owner = "ann@x" and opened < 1970-01-03T00:00:00.005Z',
    );
  });

  it('are in cursors', async () => {
    const query = db.repository(Account).find({ owner: ann }).limit(5);
    const first = await db.repository(Account).find({ owner: ann }).page({ size: 1 });
    const second = await db.repository(Account).find({ owner: ann }).page({ size: 1, cursor: first.cursor! });
    expect([...shown(first.items), ...shown(second.items)]).toEqual(shown(await query.all()));
    const other = db.repository(Account).find({ owner: bob }).page({ size: 1, cursor: first.cursor! });
    await expect(other).rejects.toThrow(/The cursor belongs to another query/);
  });
});

describe('conditions', () => {
  const where = async (asked: object): Promise<string[]> =>
    shown(await db.repository(Account).find({}, { fullScan: true }).where(asked).all());

  it('compare what is stored', async () => {
    expect(await where({ balance: new Money(500) })).toEqual([ANN1, BOB1]);
    expect(await where({ balance: { ne: new Money(500) } })).toEqual([ANN2]);
    expect(await where({ balance: { in: [new Money(-3), new Money(4)] } })).toEqual([ANN2]);
    expect(await where({ balance: { lt: new Money(0) } })).toEqual([ANN2]);
    expect(await where({ balance: { between: [new Money(-3), new Money(0)] } })).toEqual([ANN2]);
    expect(await where({ contact: { startsWith: 'a2' } })).toEqual([ANN2]);
    expect(await where({ contact: { contains: '1@' } })).toEqual([ANN1]);
    expect(await where({ contact: null })).toEqual([BOB1]);
    expect(await where({ range: { from: 1, to: 2 } })).toEqual([ANN1]);
    expect(await where({ range: { eq: { from: 1, to: 2 } } })).toEqual([ANN1]);
    const entry = await db
      .repository(Account)
      .find({}, { fullScan: true })
      .where((w) => w.entry('shares', ann, { gte: new Money(7) }))
      .all();
    expect(shown(entry)).toEqual([BOB1]);
  });

  it('are pushed to the engine, and explained by what is stored', () => {
    const query = db.repository(Account).find({}, { fullScan: true });
    const plan = query.where({ balance: { gt: new Money(5) }, contact: Email.of('q@x') }).explain();
    expect(plan.filters).toEqual({ pushed: ['balance > 5n', 'contact = "q@x"'], local: [] });
    const entry = query.where((w) => w.entry('shares', ann, new Money(7))).explain();
    expect(String(entry)).toContain('shares["ann@x"] = 7n');
  });

  it('refuse other values, and say where', () => {
    const query = db.repository(Account).find({}, { fullScan: true });
    expect(() => query.where({ balance: 5n as never })).toThrow(
      /where: Account\.balance cannot be compared with 5n: int64 cannot hold 5n: it must be an object of Money/,
    );
    expect(() => query.where({ balance: { in: [undefined as never] } })).toThrow(
      /cannot be compared with undefined/,
    );
  });

  it('are copied when they are made', async () => {
    const asked = { ms: day(1).ms, toDate: () => new Date(asked.ms) };
    const query = db.repository(Account).find({ owner: bob, opened: asked });
    asked.ms = 7;
    expect(shown(await query.all())).toEqual([BOB1]);
  });

  it('guard writes', async () => {
    const people = db.repository(Person);
    const key = { email: ann };
    expect((await people.check(key, { limit: new Money(1) }).update({ limit: null })).ok).toBe(false);
    expect((await people.check(key, { limit: new Money(900) }).update({ limit: new Money(901) })).ok).toBe(
      true,
    );
    expect((await people.get(key))?.limit?.cents).toBe(901n);
    expectTypeOf<Patch<typeof Person>['limit']>().toEqualTypeOf<Money | null | undefined>();
    await people.update(key, { limit: new Money(900) });
  });
});

describe('indexes, summaries, copies and relations', () => {
  it('find by value objects', async () => {
    const accounts = db.repository(Account);
    const byBalance = accounts.by('byBalance').find({ balance: { gte: new Money(0) } });
    expect(shown(await byBalance.all())).toEqual([ANN1, BOB1]);
    const covered = await accounts
      .by('byBalance')
      .find({ balance: new Money(-3) })
      .select('contact')
      .all();
    expect(covered.map(({ contact }) => String(contact))).toEqual(['a2@x']);
    expect(
      (
        await accounts
          .by('byContact')
          .find({ contact: Email.of('a1@x') })
          .first()
      )?.balance.cents,
    ).toBe(500n);
    const found = accounts.find({}).where({ balance: new Money(500), contact: Email.of('a1@x') });
    expect(found.explain().index?.name).toBe('perBalance_contact');
    expect(shown(await found.all())).toEqual([ANN1]);
    const rich = accounts.by('rich').find({}, { fullScan: true });
    expect(shown(await rich.all())).toEqual([ANN1]);
    expect(
      shown(
        await accounts
          .by('byOpened')
          .find({ balance: new Money(500) })
          .all(),
      ),
    ).toEqual([ANN1, BOB1]);
    const twin = { owner: bob, opened: day(9), balance: new Money(1), contact: Email.of('a1@x') };
    await expect(accounts.insert(twin)).rejects.toThrow(/another Account with \{ contact: "a1@x" \}/);
    expect(await db.index(Account, 'byBalance').verify()).toMatchObject({ rows: 3, valid: 3, stale: 0 });
  });

  it('are other indexes where their conditions are of other values', () => {
    const idOf = (limit: number) => {
      @Entity({ table: { name: 'limited', families: { d: {} } } })
      class Limited {
        static readonly key = rowKey('id');
        static readonly indexes = { rich: index('id', { where: { balance: { gt: new Money(limit) } } }) };
        id!: string;
        @Column('d:b', money) balance!: Money;
      }
      return toHex(compileSchema([Limited]).entity(Limited).indexes[0]!.id);
    };
    expect(idOf(1)).toBe(idOf(1));
    expect(idOf(1)).not.toBe(idOf(2));
  });

  it('group', async () => {
    const all = db.repository(Account).find({}, { fullScan: true });
    const groups = await all.groupBy('balance').count();
    expect(groups.map(({ balance, count }) => [balance.cents, count])).toEqual([
      [-3n, 1],
      [500n, 2],
    ]);
    expectTypeOf(groups[0]!.balance).toEqualTypeOf<Money>();
    const figures = await all.aggregate((on) => ({ least: on.min('balance'), last: on.max('opened') }));
    expect([figures.least?.cents, figures.last]).toEqual([-3n, day(2)]);
    const sorted = await all.orderBy('contact', 'desc').limit(2).all();
    expect(shown(sorted)).toEqual([ANN2, ANN1]);
    const group = await db.summary(Account, 'perBalance').get({ balance: new Money(500) });
    expect([group?.rows, String(group?.last)]).toEqual([2, 'a1@x']);
    expectTypeOf(group!.last).toEqualTypeOf<Email | null>();
  });

  it('copy and relate', async () => {
    const payments = db.repository(Payment);
    const paid = await payments.find({ payer: ann }).with('person').all();
    expect(paid.map(({ payerName, limit, person }) => [payerName, limit?.cents, person?.name])).toEqual([
      ['Ann', 900n, 'Ann'],
      ['Ann', 900n, 'Ann'],
    ]);
    await db.repository(Person).update({ email: ann }, { limit: new Money(3) });
    expect((await payments.get({ payer: ann, no: 1 }))?.limit?.cents).toBe(3n);
    await db.repository(Person).update({ email: ann }, { limit: new Money(900) });
    const accounts = await db.repository(Account).find({}, { fullScan: true }).with('payments').all();
    expect(accounts.map(({ payments: of }) => of?.map(({ amount }) => amount.cents))).toEqual([
      [5n, 50n],
      [5n, 50n],
      [5n],
    ]);
    const many = await db
      .repository(Account)
      .find({}, { fullScan: true })
      .whereRelated({ payments: { some: { amount: new Money(50) } } })
      .all();
    expect(shown(many)).toEqual([ANN1, ANN2]);
  });
});

describe('writes and other forms', () => {
  it('of Maps, histories and single entries', async () => {
    const accounts = db.repository(Account);
    const key = { owner: bob, opened: day(1) };
    await accounts.update(key, { past: [{ value: new Money(1) }], shares: new Map([[bob, new Money(2)]]) });
    const account = (await accounts.get(key))!;
    expect(account.past?.map(({ value }) => value.cents)).toEqual([1n]);
    expect([...account.shares!].map(([who, of]) => [String(who), of?.cents])).toEqual([
      ['ann@x', 7n],
      ['bob@x', 2n],
    ]);
    await accounts.update(key, { shares: new Map([[bob, null]]) });
    expect((await accounts.get(key))?.shares?.size).toBe(1);
  });

  it('as JSON and back', async () => {
    const accounts = db.repository(Account);
    const account = (await accounts.get({ owner: ann, opened: day(1) }))!;
    const plain = accounts.toPlain(account);
    expect(plain).toMatchObject({
      owner: 'ann@x',
      opened: '1970-01-02T00:00:00.005Z',
      balance: '500',
      contact: 'a1@x',
      range: [1, 2],
    });
    const back = accounts.fromPlain(plain);
    expect([back.balance.cents, String(back.owner), back.opened, back.range]).toEqual([
      500n,
      'ann@x',
      day(1),
      { from: 1, to: 2 },
    ]);
  });

  it('of requests', async () => {
    const schema = inputSchema(Payment, { coerce: true });
    const read = await schema['~standard'].validate({ payer: 'eve@x', no: 1, amount: '250' });
    expect(read.issues).toBeUndefined();
    const { amount, payer } = (read as { value: { amount: Money; payer: Email } }).value;
    expect([amount.cents, String(payer)]).toEqual([250n, 'eve@x']);
    const wrong = await schema['~standard'].validate({ payer: 'eve', no: 1, amount: 'x' });
    expect(wrong.issues?.map(({ message }) => message)).toEqual([
      expect.stringContaining('eve has no @'),
      expect.stringContaining('int64 cannot hold "x"'),
    ]);
    const strict = await inputSchema(Payment)['~standard'].validate({
      payer: ann,
      no: 1,
      amount: new Money(1),
    });
    expect(strict.issues).toBeUndefined();
    const texts = await inputSchema(Payment)['~standard'].validate({ payer: 'ann@x', no: 1, amount: 1n });
    expect(texts.issues).toHaveLength(2);
    const asked = parseQuery(Payment, new URLSearchParams('payer=ann@x&amount[gte]=10'), {
      allow: ['payer', 'amount'],
    });
    const payments = await db
      .repository(Payment)
      .find(asked.key as never)
      .where(asked.where as never)
      .all();
    expect(payments.map(({ no }) => no)).toEqual([2]);
  });
});
