import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  AfterLoad,
  AfterPut,
  BeforePut,
  Column,
  CreatedAt,
  defineEntity,
  defineTable,
  Entity,
  part,
  RowKey,
  UpdatedAt,
  Validate,
} from '../../decorators/index.js';
import { int32, int53, text } from '../../src/codec/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { Customer } from '../mapper/fixtures.js';

const table = defineTable({ name: 't', families: { d: {} } });
const calls: string[] = [];

abstract class Base {
  @CreatedAt('d:c') createdAt?: Date;
  @BeforePut() trackBase(): void {
    calls.push('base');
  }
}

@Entity({ table })
@RowKey(part('id'))
@Validate(
  z
    .object({ id: z.string(), low: z.number(), high: z.number() })
    .refine((e) => e.low <= e.high, 'low is above high'),
)
class Range extends Base {
  declare static readonly key: ['id'];
  id!: string;
  @Validate(z.number().min(0)) @Column('d:l', int32) low!: number;
  @Validate(z.number().max(100)) @Column('d:h', int32) high!: number;
  @Column('d:n', text) note?: string | null;
  @UpdatedAt('d:u', int53) updatedAt?: number;
  @BeforePut() async trim(): Promise<void> {
    calls.push('trim');
    await Promise.resolve();
    this.note = this.note?.trim() ?? null;
  }
  @AfterPut() written(): void {
    calls.push(`written ${this.id}`);
  }
  @AfterLoad() loaded(): void {
    calls.push(`loaded ${this.id}`);
  }
}

const { lifecycle } = compileSchema([Range]).entity(Range);
const range = (values: object) => Object.assign(new Range(), values) as Range & Record<string, unknown>;

describe('beforeWrite', () => {
  it('runs hooks, base class first, then stamps, then checks', async () => {
    calls.length = 0;
    const entity = range({ id: 'a', low: 1, high: 2, note: ' x ' });
    await lifecycle.beforeWrite!(entity, 'insert', 1000);
    expect(calls).toEqual(['base', 'trim']);
    expect(entity).toMatchObject({ note: 'x', createdAt: new Date(1000), updatedAt: 1000 });
  });

  it('sets the creation time only at inserts, and only when there is none', async () => {
    const put = range({ id: 'a', low: 1, high: 2 });
    await lifecycle.beforeWrite!(put, 'put', 1000);
    expect(put.createdAt).toBeUndefined();
    const insert = range({ id: 'a', low: 1, high: 2, createdAt: new Date(5), updatedAt: 5 });
    await lifecycle.beforeWrite!(insert, 'insert', 1000);
    expect(insert).toMatchObject({ createdAt: new Date(5), updatedAt: 1000 });
  });

  it('throws with every issue of every check', async () => {
    const entity = range({ id: 'a', low: -1, high: 101 });
    await expect(async () => lifecycle.beforeWrite!(entity, 'put', 0)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message: expect.stringMatching(/^Entity "Range" was not written.*low: .*; high: /s),
      details: { entity: 'Range', issues: [{ path: 'low' }, { path: 'high' }] },
    });
    await expect(async () =>
      lifecycle.beforeWrite!(range({ id: 'a', low: 3, high: 2 }), 'put', 0),
    ).rejects.toThrow(/low is above high/);
  });

  it('of an update stamps and checks what is in the patch, and runs no hook', () => {
    calls.length = 0;
    const patch: Record<string, unknown> = { high: 50, low: undefined, note: null };
    expect(lifecycle.beforeWrite!(patch, 'update', 7)).toBeUndefined();
    expect(patch['updatedAt']).toBe(7);
    expect(calls).toEqual([]);
    expect(() => lifecycle.beforeWrite!({ high: 101 }, 'update', 7)).toThrow(/high: /);
  });

  it('waits for validators that answer later', async () => {
    const validator = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: async (value: unknown) =>
          value === 'ok' ? { value } : { issues: [{ message: 'is not ok' }] },
      },
    };
    @Entity({ table })
    @RowKey(part('id'))
    class Slow {
      declare static readonly key: ['id'];
      id!: string;
      @Validate(validator) @Column('d:a', text) a!: string;
      @Validate(validator) @Column('d:b', text) b!: string;
    }
    const slow = compileSchema([Slow]).entity(Slow).lifecycle;
    await expect(slow.beforeWrite!({ id: 'x', a: 'ok', b: 'ok' }, 'put', 0)).resolves.toBeUndefined();
    await expect(slow.beforeWrite!({ id: 'x', a: 'no', b: 'no' }, 'put', 0)).rejects.toThrow(
      /a: is not ok; b: is not ok/,
    );
  });
});

describe('afterWrite and afterLoad', () => {
  it('run their hooks on the entity, also on one without methods', () => {
    calls.length = 0;
    lifecycle.afterWrite!({ id: 'a' });
    lifecycle.afterLoad!(range({ id: 'b' }));
    expect(calls).toEqual(['written a', 'loaded b']);
  });
});

it('an entity without hooks, checks and timestamps has an empty lifecycle', () => {
  expect(compileSchema([Customer]).entity(Customer).lifecycle).toEqual({
    check: undefined,
    checked: new Set(),
    beforeWrite: undefined,
    afterWrite: undefined,
    beforeUpdate: undefined,
    afterUpdate: undefined,
    beforeDelete: undefined,
    afterDelete: undefined,
    afterLoad: undefined,
    stamped: [],
    updatedProperty: undefined,
  });
});

it.each([undefined, null, 7, 'z.string()', (value: unknown) => value, {}, { '~standard': {} }])(
  'a validator that is no Standard Schema (%s) is refused when the schema is compiled',
  (wrong) => {
    const given = { name: 'Wrong', table, key: [part('id')] as const };
    const above = (): unknown =>
      compileSchema([
        defineEntity({
          ...given,
          columns: (c) => ({ note: c.column('d:n', text).validate(wrong as never) }),
        }),
      ]);
    expect(above).toThrow(/Wrong\.note: Its validator is .*no Standard Schema/);
    if (wrong === undefined) return;
    const whole = (): unknown =>
      compileSchema([defineEntity({ ...given, columns: () => ({}), validate: wrong as never })]);
    expect(whole).toThrow(/Wrong: Its validator is .*no Standard Schema/);
  },
);
