/** What indexes say of people, held against a scan of the rows. */

import { expect } from 'vitest';
import type { Database } from '../../../src/database.js';
import { Person } from '../../indexes/entities.js';

export const NAMES = ['byEmail', 'byStatus', 'openByTotal', 'byTag', 'byMember', 'spread'] as const;
export const STATUS = ['open', 'sent', 'gone'] as const;
export const WELL = { missing: 0, extra: 0, stale: 0, unverified: 0 };

/** Every index answers what a scan of the rows says, entries alone and with their rows. */
export async function expectTrueAnswers(db: Database, when: string): Promise<void> {
  const people = db.repository(Person);
  const rows = await people.find({}, { fullScan: true }).all();
  const idsOf = (found: readonly { readonly id: string }[]): string[] => found.map(({ id }) => id).sort();
  const rowsThat = (meets: (row: Person) => boolean): string[] => idsOf(rows.filter(meets));
  const emails = [...new Set(rows.flatMap(({ email }) => email ?? []))];
  expect(
    rowsThat(({ email }) => typeof email === 'string'),
    when,
  ).toHaveLength(emails.length);
  const byEmail = await people
    .by('byEmail')
    .find({ email: { gte: '' } })
    .all();
  expect(idsOf(byEmail), when).toEqual(rowsThat(({ email }) => typeof email === 'string'));
  const bySpread = await people.by('spread').find({}, { fullScan: true }).all();
  expect(idsOf(bySpread), when).toEqual(rowsThat(({ status }) => typeof status === 'string'));
  for (const status of STATUS) {
    const wanted = rows.filter((row) => row.status === status && row.placedAt instanceof Date);
    const query = people.by('byStatus').find({ status });
    expect(idsOf(await query.all()), when).toEqual(idsOf(wanted));
    const covered = await query.select('total').all();
    const totals = (list: readonly { readonly id: string; readonly total?: number | null }[]) =>
      list.map(({ id, total }) => `${id} ${total ?? null}`).sort();
    expect(totals(covered), when).toEqual(totals(wanted));
  }
  const tagged = await people
    .by('byTag')
    .find({ tags: { gte: '' } })
    .all();
  expect(idsOf(tagged), when).toEqual(rowsThat(({ tags }) => (tags?.length ?? 0) > 0));
  const members = await people
    .by('byMember')
    .find({ members: { gte: '' } })
    .all();
  expect(idsOf(members), when).toEqual(rowsThat((row) => (row.members?.size ?? 0) > 0));
  const small = await people
    .find({})
    .where({ status: 'open', total: { lt: 8 } })
    .all();
  expect(idsOf(small), when).toEqual(
    rowsThat(({ status, total }) => status === 'open' && total != null && total < 8),
  );
}

/** What verify finds in all indexes together. */
export async function faults(db: Database): Promise<number> {
  let sum = 0;
  for (const name of NAMES) {
    const { missing, extra, stale, unverified } = await db.index(Person, name).verify();
    sum += missing + extra + stale + unverified;
  }
  return sum;
}
