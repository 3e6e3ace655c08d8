/** A tenant's open tickets: equalities of the key's prefix and of `where` choose an index together. */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  Column,
  Entity,
  Index,
  index,
  part,
  reverseTimestamp,
  rowKey,
  salt,
  Table,
} from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { type Database, open } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openMemory } from '../../src/testing/index.js';

@Table({ name: 'tickets', families: { d: {} } })
class Tickets {}

@Entity({ table: Tickets })
class Ticket {
  static readonly key = rowKey(part('tenantId'), part('id'));
  static readonly indexes = {
    byAssignee: index('tenantId', 'status', 'assigneeId'),
    byStatus: index('status'),
  };
  tenantId!: string;
  id!: string;
  @Column('d:s', text) status!: string;
  @Column('d:a', text) assigneeId!: string;
}

/** The decorator without the check of the compiler. */
const untyped = Index as unknown as (name: string, parts: readonly unknown[]) => ClassDecorator;

let db: Database;
beforeAll(async () => {
  db = await openMemory({ entities: [Ticket] });
  await db.repository(Ticket).putMany(
    Array.from({ length: 2000 }, (_, i) => ({
      tenantId: `t${i % 2}`,
      id: `k${i}`,
      status: i % 10 === 0 ? 'open' : 'closed',
      assigneeId: `a${i % 100}`,
    })),
  );
});
afterAll(() => db.close());

test('the index of tenant, status and assignee is read, and only its entries of all three', async () => {
  const query = db.repository(Ticket).find({ tenantId: 't0' }).where({ status: 'open', assigneeId: 'a20' });
  const { index: used, filters, ranges } = query.explain();
  expect(used?.name).toBe('byAssignee');
  expect(ranges).toHaveLength(1);
  expect(filters).toEqual({ pushed: [], local: [] });
  const found = await query.all();
  expect(found).toHaveLength(20);
  expect(
    found.every(
      ({ tenantId, status, assigneeId }) => `${tenantId} ${status} ${assigneeId}` === 't0 open a20',
    ),
  ).toBe(true);
});

test('an index that is not taken is named with the reason', () => {
  const query = db.repository(Ticket).find({ tenantId: 't0' }).where({ assigneeId: 'a20' });
  const { index: used, unused, kind } = query.explain();
  const others = new Map([...(unused ?? []), ...(used?.others ?? [])].map(({ name, why }) => [name, why]));
  expect([used?.name, kind]).not.toEqual(['byStatus', 'full']);
  expect(others.get('byStatus')).toMatch(/status/);
});

test('a salt over the tenant leaves the rows of one tenant in their order, and its index is read', async () => {
  @Entity({ table: { name: 'audit', families: { d: {} } } })
  class AuditEvent {
    static readonly key = rowKey(salt(8, ['tenantId']), part('tenantId'), reverseTimestamp('at'), part('id'));
    static readonly indexes = {
      byActor: index('tenantId', 'actor', reverseTimestamp('at')),
      byAction: index(salt(4, ['action']), 'action', 'tenantId', reverseTimestamp('at')),
    };
    tenantId!: string;
    at!: Date;
    id!: string;
    @Column('d:a', text) actor!: string;
    @Column('d:c', text) action!: string;
  }
  await using audit = await openMemory({ entities: [AuditEvent] });
  const events = audit.repository(AuditEvent);
  await events.putMany(
    Array.from({ length: 300 }, (_, i) => ({
      tenantId: `t${i % 3}`,
      at: new Date((i * 7) % 50),
      id: `e${i}`,
      actor: `u${i % 5}`,
      action: i % 2 === 0 ? 'read' : 'write',
    })),
  );
  const cases = [
    ['byActor', { tenantId: 't1' }, { actor: 'u2' }],
    ['byActor', { tenantId: 't1', at: { gte: new Date(10), lt: new Date(40) } }, { actor: 'u2' }],
    ['byAction', { tenantId: 't1' }, { action: 'write' }],
  ] as const;
  for (const [name, key, where] of cases) {
    const query = events.find(key).where(where);
    expect(query.explain()).toMatchObject({ index: { name }, filters: { pushed: [], local: [] } });
    const scan = events.find(key, { fullScan: true }).where(where);
    expect(scan.explain().index).toBeUndefined();
    const all = await scan.all();
    expect(all.length).toBeGreaterThan(9);
    expect(await query.all()).toEqual(all);
    expect(await query.reverse().all()).toEqual([...all].reverse());
    const first = await query.page({ size: 4 });
    const second = await query.page({ size: 4, cursor: first.cursor! });
    expect([...first.items, ...second.items]).toEqual(all.slice(0, 8));
  }
  // Rows of two tenants are merged from two salts.
  const two = events.find({ tenantId: { in: ['t0', 't1'] } }).where({ actor: 'u2' });
  expect(two.explain().index).toBeUndefined();
});

test('a misspelt part is answered with the properties that there are, and not with itself', () => {
  @Entity({ table: Tickets })
  @untyped('byName', [part('nmae')])
  class Misspelt {
    static readonly key = rowKey(part('id'));
    id!: string;
    @Column('d:n', text) name!: string;
  }
  let message = '';
  try {
    compileSchema([Misspelt as never]);
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).toMatch(/byName.*nmae/s);
  expect(message).toContain('name');
  expect(message.match(/nmae/g)).toHaveLength(1);
});

test('an error of the lock names the file by the path that was given', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-'));
  mkdirSync(join(folder, 'LOCK'));
  try {
    const opening = open({ path: folder, entities: [Ticket] });
    await expect(opening).rejects.toThrow(join(folder, 'LOCK'));
    await expect(opening).rejects.not.toThrow('/proc/');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
