import { describe, expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { hash, part, uint32 } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { EntityReader } from '../../src/repository/index.js';
import { Customer, Event, Order } from './entities.js';

const schema = compileSchema([Customer, Order, Event]);
/** Explaining reads nothing, so there is nothing to read from. */
const nowhere = { table: undefined as never, sync: undefined };
const orders = new EntityReader<typeof Order>(schema.entity(Order), nowhere, undefined);
const customers = new EntityReader<typeof Customer>(schema.entity(Customer), nowhere, undefined);
const events = new EntityReader<typeof Event>(schema.entity(Event), nowhere, undefined);

describe('explain', () => {
  test('a whole key is a point', () => {
    const plan = customers.find({ customerId: 'c1' }).explain();
    expect(plan).toMatchObject({
      kind: 'point',
      entities: ['Customer'],
      table: 'shop:crm',
      maxRows: 1,
      fanOut: 1,
    });
    expect(plan.ranges).toHaveLength(1);
    expect(plan.warnings).toEqual([]);
  });

  test('a prefix and a range is one range of bytes, known to the last', () => {
    const plan = orders
      .find({
        customerId: 'c1',
        placedAt: { gte: new Date(Date.UTC(2026, 0, 1)), lt: new Date(Date.UTC(2026, 1, 1)) },
      })
      .limit(10)
      .explain();
    expect(JSON.parse(JSON.stringify(plan))).toMatchInlineSnapshot(`
      {
        "direction": "forward",
        "entities": [
          "Order",
        ],
        "fanOut": 1,
        "filters": {
          "local": [],
          "pushed": [],
        },
        "key": "customerId = "c1" and placedAt >= 2026-01-01T00:00:00.000Z and placedAt < 2026-02-01T00:00:00.000Z",
        "kind": "range",
        "limit": 10,
        "limitPushed": true,
        "maxRows": 10,
        "order": "key",
        "ranges": [
          {
            "printed": "[\\x07c1\\x00\\x01\\x02\\x7F\\xFF\\xFEc\\xE9\\x804, \\x07c1\\x00\\x01\\x02\\x7F\\xFF\\xFEd\\x89%X)",
            "start": "0763310001027ffffe63e98034",
            "stop": "0763310001027ffffe64892558",
          },
        ],
        "reads": {
          "d": "all",
          "p": "all",
        },
        "table": "shop:crm",
        "timeRange": null,
        "warnings": [],
      }
    `);
    expect(String(plan)).toMatchInlineSnapshot(`
      "range on shop:crm for Order where customerId = "c1" and placedAt >= 2026-01-01T00:00:00.000Z and placedAt < 2026-02-01T00:00:00.000Z
        range  [\\x07c1\\x00\\x01\\x02\\x7F\\xFF\\xFEc\\xE9\\x804, \\x07c1\\x00\\x01\\x02\\x7F\\xFF\\xFEd\\x89%X)
        order  key, forward
        reads  d:* p:*
        limit  10, pushed to each range
        rows   at most 10"
    `);
  });

  test('a range over a salted key is read from every salt and merged, the limit pushed to each', () => {
    const plan = events
      .find({ at: { gte: new Date(0) } })
      .limit(10)
      .explain();
    expect(plan).toMatchObject({
      kind: 'ranges',
      fanOut: 16,
      order: 'merge',
      limitPushed: true,
      maxRows: 160,
    });
    expect(plan.ranges).toHaveLength(16);
  });

  test('says what is pushed and what is not, and that the limit then cannot be', () => {
    const plan = orders
      .find({ customerId: 'c1' })
      .where({ status: 'open', total: { gte: '5.00' }, shippedAt: null, tags: { exists: true } })
      .where((w) => w.or({ quantity: { gt: 1 } }, w.not({ status: { contains: '(x' } })))
      .limit(5)
      .explain();
    expect(plan.filters).toEqual({
      pushed: [
        'status = "open"',
        'total >= "5.00"',
        'shippedAt is absent',
        'tags is present',
        '(quantity > 1 or not (status contains "(x"))',
      ],
      local: [],
    });
    expect(plan.limitPushed).toBe(true);
    const local = orders
      .find({ customerId: 'c1' })
      .where({ status: { endsWith: 'n' }, orderNo: 7 })
      .limit(5)
      .explain();
    expect(local.filters).toEqual({ pushed: [], local: ['status ends with "n"', 'orderNo = 7'] });
    expect(local).toMatchObject({ limitPushed: false, maxRows: null });
    expect(local.warnings.map((warning) => warning.code)).toEqual(['LOCAL_FILTER']);
  });

  test('select reads only the columns, the marker and what is tested', () => {
    const plan = orders.find({ customerId: 'c1' }).where({ quantity: 1 }).select('status').explain();
    expect(plan.reads).toEqual({ d: ['_', 's', 'q'] });
    expect(orders.find({ customerId: 'c1' }).explain().reads).toEqual({ d: 'all', p: 'all' });
  });

  test('is the same for the same query, however it was written', () => {
    const at = { gte: new Date(5), lt: new Date(9) };
    const one = orders.find({ customerId: 'a', placedAt: at }).explain();
    const other = orders.find({ placedAt: at, customerId: 'a' }).explain();
    expect(JSON.stringify(other)).toBe(JSON.stringify(one));
  });
});

describe('what cannot be planned', () => {
  test('a full scan throws, and says what to give', () => {
    expect(() => orders.find({}).explain()).toThrow(
      expect.objectContaining({ code: 'ERR_FULL_SCAN', message: expect.stringContaining('"customerId"') }),
    );
    expect(() => orders.find({}).where({ status: 'open' }).explain()).toThrow(
      /to find status = .*leading key part "customerId".*fullScan: true/,
    );
    expect(orders.find({}, { fullScan: true }).explain()).toMatchObject({
      kind: 'full',
      warnings: [{ code: 'FULL_SCAN' }, { code: 'LOCAL_FILTER' }],
    });
  });

  test('of a key that begins with a digest it says what the digest is of', () => {
    const Flight = defineEntity({
      name: 'Flight',
      table: defineTable({ name: 'flights', families: { d: {} } }),
      key: [hash(['from', 'to', 'day']), part('no', uint32)],
      columns: (c) => ({
        from: c.column('d:f', text),
        to: c.column('d:t', text),
        day: c.column('d:d', text),
      }),
    });
    const flights = new EntityReader<typeof Flight>(
      compileSchema([Flight]).entity(Flight),
      nowhere,
      undefined,
    );
    const spec = (key: object) => () => flights.find(key as never).explain();
    expect(spec({ from: 'CTU' })).toThrow(
      'Give each of "from", "to", "day": the key begins with one digest of them, or allow it',
    );
    expect(spec({})).toThrow('Give at least the leading key part "from"');
  });

  test('between of a key part is its range', () => {
    const [gte, lte] = [new Date(1), new Date(9)];
    const between = orders.where({ customerId: 'c1', placedAt: { between: [gte, lte] } });
    const ranges = orders.find({ customerId: 'c1', placedAt: { gte, lte } });
    expect(String(between.explain())).toBe(String(ranges.explain()));
    expect(() => orders.where({ customerId: 'c1', placedAt: { between: [gte] as never } })).toThrow(
      '"between" takes [lowest, highest]',
    );
    expect(() =>
      orders.where({ customerId: 'c1', placedAt: { between: [gte, undefined as never] } }),
    ).toThrow(/undefined/);
  });

  test('undefined, null, holes and parts after a range throw', () => {
    // @ts-expect-error undefined never means "any"
    expect(() => orders.find({ customerId: undefined })).toThrow(/customerId is undefined/);
    // @ts-expect-error null is no value of a key
    expect(() => orders.find({ customerId: null })).toThrow(/customerId is null/);
    // @ts-expect-error a hole
    expect(() => orders.find({ placedAt: new Date() }).explain()).toThrow(/customerId/);
    // @ts-expect-error a part behind a range
    expect(() => orders.find({ customerId: { startsWith: 'a' }, orderNo: 1 }).explain()).toThrow(
      /orderNo|placedAt/,
    );
    // @ts-expect-error no part of the key
    expect(() => orders.find({ status: 'open' })).toThrow(/no key part "status".*where/);
    // @ts-expect-error a wrong operator
    expect(() => orders.find({ customerId: { like: 'a' } })).toThrow(/unknown operator "like"/);
    // @ts-expect-error an operator of where alone
    expect(() => orders.find({ customerId: { between: ['a', 'b'] } })).toThrow(
      'Order.customerId: find has no operator "between". Write { gte: lowest, lte: highest }.',
    );
    expect(() => orders.find({ customerId: {} })).toThrow(/no range/);
    expect(() => orders.find({ customerId: 'a', placedAt: { gt: new Date(), gte: new Date() } })).toThrow(
      /no range/,
    );
  });

  test('where refuses unknown columns, undefined and values without an order', () => {
    const query = orders.find({ customerId: 'c1' });
    // @ts-expect-error no such column
    expect(() => query.where({ colour: 'red' })).toThrow(/no column "colour".*status/);
    // @ts-expect-error undefined
    expect(() => query.where({ status: undefined })).toThrow(/status is undefined/);
    // @ts-expect-error a wrong type
    expect(() => query.where({ status: 5 }).explain()).toThrow(/status \(text\)/);
    // @ts-expect-error null has no order
    expect(() => query.where({ status: { gt: null } })).toThrow(/takes no null/);
    expect(() => query.where({ status: {} })).toThrow(/Write an operator/);
    expect(() => query.where({ shippedAt: new Date(Number.NaN) })).toThrow(/cannot be compared/);
  });
});
