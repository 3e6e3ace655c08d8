import { expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  Column,
  Columns,
  CreatedAt,
  Default,
  Denormalized,
  date,
  defineEntity,
  defineTable,
  Embedded,
  Entity,
  enumeration,
  type Input,
  int32,
  int64,
  type JsonValue,
  json,
  type KeyOf,
  newUuid,
  type Patch,
  part,
  Required,
  rowKey,
  Ttl,
  text,
  uuid,
  Validate,
  Version,
} from '../../src/index.js';
import { openMemory } from '../../src/testing/index.js';
import { inputSchema, keySchema, openApiComponents, patchSchema } from '../../src/validation/index.js';

const table = defineTable({ name: 'tickets', families: { d: {}, n: {} } });

class Place {
  @Column('city', text) city!: string;
  @Column('floor', int32) floor?: number;
}

@Entity({ table: defineTable({ name: 'tenants', families: { d: {} } }) })
class Tenant {
  static readonly key = rowKey('tenantId');
  tenantId!: string;
  @Column('d:n', text) name?: string;
}

@Entity({ table })
@Denormalized(() => Tenant, { via: 'tenantId', fields: { tenantName: 'name' } })
class Ticket {
  static readonly key = rowKey('tenantId', part('id', uuid));
  tenantId!: string;
  @Default(newUuid) id!: string;
  @Required() @Column('d:s', text) @Validate(z.string().min(3)) subject!: string;
  @Column('d:st', enumeration({ open: 1, closed: 2 })) status?: 'open' | 'closed';
  @Column('d:t', int64) total?: bigint;
  @Column('d:due', date) due?: Date;
  @Column('d:j', json()) extra?: JsonValue;
  @Embedded('d', () => Place) place?: Place;
  @Columns('n:', { key: text, value: int32 }) counts!: Map<string, number>;
  @Column('d:tn', text) tenantName?: string;
  @CreatedAt('d:c') createdAt?: Date;
  @Version('d:v') version?: number;
  @Ttl() ttl?: number;

  close(): void {
    this.status = 'closed';
  }
}

const id = '0198c2b2-7d3e-7c3a-9c1f-2f6c0a7b1c11';

async function issues(result: unknown): Promise<string[]> {
  const { issues: found } = (await result) as {
    issues?: readonly { path: readonly PropertyKey[]; message: string }[];
  };
  return (found ?? []).map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
}

it('has the types of insert, update and key', () => {
  const input = inputSchema(Ticket);
  type Types<V extends { '~standard': { types?: unknown } }> = NonNullable<V['~standard']['types']>;
  expectTypeOf<Types<typeof input>['output' & keyof Types<typeof input>]>().toEqualTypeOf<
    Input<typeof Ticket>
  >();
  expectTypeOf(patchSchema(Ticket).parse).returns.resolves.toEqualTypeOf<Patch<typeof Ticket>>();
  expectTypeOf(keySchema(Ticket).parse).returns.resolves.toEqualTypeOf<KeyOf<typeof Ticket>>();
  const omitted = patchSchema(Ticket, { omit: ['version'] });
  expectTypeOf(omitted.parse).returns.resolves.not.toHaveProperty('version');
  const coerced = patchSchema(Ticket, { coerce: true });
  expectTypeOf<Date | string | null | undefined>().toExtend<
    NonNullable<(typeof coerced)['~standard']['types']>['input']['due']
  >();
});

it('has no value of a column with a default that the input omits, so put refuses what insert takes', async () => {
  const Note = defineEntity({
    name: 'Note',
    table: defineTable({ name: 'notes', families: { d: {} } }),
    key: [part('id', uuid)],
    defaults: { id: newUuid },
    columns: (c) => ({ text: c.column('d:t', text), state: c.column('d:s', text).default(() => 'open') }),
  });
  const given = await inputSchema(Note).parse({ text: 'Late' });
  expect(given.state).toBeUndefined();
  expectTypeOf(given.state).toEqualTypeOf<string | undefined>();
  const db = await openMemory({ entities: [Note] });
  const notes = db.repository(Note);
  // @ts-expect-error The columns with a default may be missing.
  await expect(notes.put(given)).rejects.toThrow(/Note.state is required.*use insert/);
  expect((await notes.insert(given)).state).toBe('open');
  await db.close();
});

it('names the path of each wrong value, and all of them', async () => {
  const { validate } = inputSchema(Ticket)['~standard'];
  expect(
    await issues(
      validate({
        id: 'x',
        subject: null,
        total: 5,
        place: { city: 5, street: 'x' },
        counts: new Map([['a', 1.5]]),
        ttl: -1,
        tenant: {},
      }),
    ),
  ).toEqual([
    'tenant: unknown property. Remove it.',
    'tenantId: it is required.',
    expect.stringMatching(/^id: uuid cannot hold "x"/),
    'subject: it may not be null.',
    expect.stringMatching(/^total: int64 cannot hold 5: it must be a bigint/),
    'place.street: unknown property. Remove it.',
    expect.stringMatching(/^place.city: text cannot hold 5/),
    expect.stringMatching(/^counts.a: int32 cannot hold 1.5/),
    expect.stringMatching(/^ttl: a time to live must be/),
  ]);
});

it('names the part of a key of one part that makes no row', async () => {
  for (const schema of [inputSchema(Tenant), keySchema(Tenant)]) {
    const result = await schema['~standard'].validate({ tenantId: '' });
    expect(result.issues?.map(({ path }) => path)).toEqual([['tenantId']]);
  }
});

it('lets out what has a default, runs checks, and takes instances', async () => {
  const { validate } = inputSchema(Ticket)['~standard'];
  expect(await validate({ tenantId: 't', subject: 'late' })).toEqual({
    value: { tenantId: 't', subject: 'late' },
  });
  expect(await issues(validate({ tenantId: 't', subject: 'x' }))).toEqual([
    expect.stringMatching(/^subject: /),
  ]);
  const ticket = Object.assign(new Ticket(), { tenantId: 't', id, subject: 'late' });
  expect(await issues(validate(ticket))).toEqual([]);
});

it('reads texts with coerce, and none without', async () => {
  const sent = {
    tenantId: 't',
    id,
    subject: '123',
    total: '12',
    due: '2026-03-01T10:00:00Z',
    place: { floor: '2', city: 'Ulm' },
    counts: { a: '1' },
    extra: { n: '1' },
  };
  expect(await issues(inputSchema(Ticket)['~standard'].validate(sent))).toHaveLength(4);
  expect(await inputSchema(Ticket, { coerce: true }).parse(sent)).toEqual({
    ...sent,
    total: 12n,
    due: new Date('2026-03-01T10:00:00Z'),
    place: { floor: 2, city: 'Ulm' },
    counts: new Map([['a', 1]]),
  });
  const { validate } = patchSchema(Ticket, { coerce: true })['~standard'];
  for (const due of ['2026-02-31', '5', '2026-03-01T10:00', 'x'.repeat(10_000), 17]) {
    expect(await issues(validate({ due })), due.toString()).toHaveLength(1);
  }
  for (const floor of ['', ' 1', '0x10', '1e999', '1.5', 'NaN']) {
    expect(await issues(validate({ place: { floor } })), floor).toHaveLength(1);
  }
});

it('refuses what is left out, and asks for what is required', async () => {
  const own = inputSchema(Ticket, { omit: ['tenantId', 'createdAt', 'version'], required: ['status'] });
  expect(await issues(own['~standard'].validate({ subject: 'late', tenantId: 't' }))).toEqual([
    'tenantId: unknown property. Remove it.',
    'status: it is required.',
  ]);
  expect(await own.parse({ subject: 'late', status: 'open' })).toEqual({ subject: 'late', status: 'open' });
  expect(() => inputSchema(Ticket, { omit: ['nothing' as never] })).toThrow(/omit contains "nothing"/);
  expect(() => inputSchema(Ticket, { coerced: true } as never)).toThrow(/has no option "coerced"/);
});

it('takes patches that update takes, and keys that are whole', async () => {
  const patch = patchSchema(Ticket)['~standard'];
  expect(
    await issues(patch.validate({ status: null, total: 5n, version: 3, place: { floor: null } })),
  ).toEqual([]);
  expect(await issues(patch.validate({ subject: null }))).toEqual(['subject: it may not be null.']);
  expect(await issues(patch.validate({}))).toEqual([': the patch is empty. Set at least one column.']);
  const key = keySchema(Ticket);
  expect(await key.parse({ tenantId: 't', id })).toEqual({ tenantId: 't', id });
  expect(await issues(key['~standard'].validate({ tenantId: '', id: 5 }))).toEqual([
    expect.stringMatching(/^id: /),
  ]);
  await expect(key.parse({ id })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
    details: { property: 'tenantId', issues: [{ path: ['tenantId'] }] },
  });
});

it('answers hostile values with issues', async () => {
  const { validate } = inputSchema(Ticket, { coerce: true })['~standard'];
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const throwing = {
    get subject(): never {
      throw new Error('no');
    },
  };
  let deep: unknown[] = [];
  for (let i = 0; i < 20_000; i++) deep = [deep];
  const hostile = [
    undefined,
    null,
    5,
    [],
    () => 1,
    revoked.proxy,
    throwing,
    JSON.parse('{"__proto__": {"tenantId": "t"}, "constructor": 1}'),
    { tenantId: 't', subject: 'late', extra: deep },
    { tenantId: 't', subject: 'late', total: '9'.repeat(100_000) },
    Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`x${i}`, i])),
  ];
  for (const value of hostile) {
    const found = await issues(validate(value));
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThan(60);
  }
  expect(({} as { tenantId?: string }).tenantId).toBeUndefined();
});

it('says itself in JSON Schema and OpenAPI', () => {
  const schema = inputSchema(Ticket).toJSONSchema();
  expect(schema).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    required: ['tenantId', 'subject'],
    additionalProperties: false,
    properties: {
      id: { type: 'string', format: 'uuid' },
      subject: { type: 'string' },
      status: { anyOf: [{ type: 'string', enum: ['open', 'closed'] }, { type: 'null' }] },
      extra: {},
    },
  });
  const { input, output } = inputSchema(Ticket)['~standard'].jsonSchema;
  expect(input({ target: 'draft-2020-12' })).toEqual(schema);
  expect(output({ target: 'draft-07' })).toMatchObject({
    properties: { counts: { items: { items: [{ type: 'string' }, {}] } } },
  });
  expect(() => input({ target: 'openapi-3.0' })).toThrow(/draft-2020-12 or draft-07/);
  const { schemas } = openApiComponents([Ticket, Tenant]);
  expect(Object.keys(schemas)).toEqual(
    ['Ticket', 'Tenant'].flatMap((name) => [name, `${name}Input`, `${name}Patch`, `${name}Key`]),
  );
  expect(schemas['TicketKey']).toEqual({
    type: 'object',
    properties: { tenantId: { type: 'string' }, id: { type: 'string', format: 'uuid' } },
    required: ['tenantId', 'id'],
    additionalProperties: false,
  });
  expect(() => openApiComponents([Ticket, Ticket])).toThrow(/two schemas have the name Ticket/);
});
