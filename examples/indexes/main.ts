/**
 * Tables of music, films, shops, spending and a chat service, asked by what is not their key; each answer is held against
 * a scan of the whole table. `npm run example:indexes -- 100000`.
 */

import { deepStrictEqual, rejects } from 'node:assert';
import { rm } from 'node:fs/promises';
import Table from 'cli-table3';
import { open } from 'rowan-orm';
import { Account, Offer, Play, Purchase, Room, Viewing } from './entities.js';

const count = Number(process.argv[2] ?? 100_000);
const path = '.rowan/indexes';
const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const user = (i: number): string => `u${(i * 7919) % 997}`;
const time = (i: number): Date => new Date(START + i * MINUTE);

await rm(path, { recursive: true, force: true });
await using db = await open({ path, entities: [Account, Offer, Play, Purchase, Room, Viewing] });
const [plays, viewings, offers] = [db.repository(Play), db.repository(Viewing), db.repository(Offer)];
const [purchases, accounts, rooms] = [db.repository(Purchase), db.repository(Account), db.repository(Room)];

const numbers = Array.from({ length: count }, (_, i) => i);
const begun = performance.now();
await plays.putMany(
  numbers.map((i) => ({
    user: user(i),
    heardAt: time(i),
    song: `song${i % 211}`,
    device: i % 3 ? 'phone' : 'car',
  })),
);
await viewings.putMany(
  numbers.map((i) => ({ user: user(i), film: `film${i}`, watchedAt: time(i), stars: 1 + (i % 5) })),
);
await offers.putMany(
  numbers.map((i) => ({
    shop: `shop${i % 101}`,
    item: `item${Math.floor(i / 101)}`,
    price: i % 5000,
    since: time(i),
  })),
);
await purchases.putMany(
  numbers.map((i) => ({
    user: user(i),
    at: time(i),
    product: `p${i % 307}`,
    cents: (i * 104_729) % 100_000,
  })),
);
const people = numbers.slice(0, Math.ceil(count / 10));
await accounts.putMany(people.map((i) => ({ id: `u${i}`, email: `u${i}@example.org` })));
await rooms.putMany(
  people.slice(0, Math.ceil(count / 100)).map((i) => ({
    id: `r${i}`,
    name: `Room ${i}`,
    members: new Map(
      [0, 1, 2].map((n) => [`u${(i * 3 + n * 7) % people.length}`, n === 0 ? 'owner' : 'member']),
    ),
  })),
);
const loading = (performance.now() - begun) / 1000;

const results = new Table({ head: ['question', 'index', 'rows', 'by index, ms', 'by scan, ms'] });

/** Asks both ways; the answers must be the same. */
async function compare<T>(
  question: string,
  index: string,
  byIndex: () => Promise<readonly T[]>,
  byScan: () => Promise<readonly T[]>,
): Promise<void> {
  const [found, quick] = await timed(byIndex);
  const [wanted, slow] = await timed(byScan);
  deepStrictEqual(sorted(found), sorted(wanted));
  results.push([question, index, found.length, quick, slow]);
}

async function timed<T>(ask: () => Promise<T>): Promise<[T, string]> {
  const from = performance.now();
  const answer = await ask();
  return [answer, (performance.now() - from).toFixed(2)];
}

function sorted(rows: readonly unknown[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

const SCAN = { fullScan: true } as const;
const hour = { gte: time(60), lt: time(120) };
await compare(
  'music: who heard song 17',
  'bySong',
  () => plays.by('bySong').find({ song: 'song17' }).all(),
  () => plays.find({}, SCAN).where({ song: 'song17' }).all(),
);
await compare(
  'films: watched within an hour',
  'byTime',
  () => viewings.by('byTime').find({ watchedAt: hour }).select('stars').all(),
  () => viewings.find({}, SCAN).where({ watchedAt: hour }).select('stars').all(),
);
await compare(
  'shops: who sells item 0',
  'byItem',
  () => offers.by('byItem').find({ item: 'item0' }).select('price').all(),
  () => offers.find({}, SCAN).where({ item: 'item0' }).select('price').all(),
);
await compare(
  'shops: what came to shop 5 within an hour',
  'newest',
  () => offers.by('newest').find({ shop: 'shop5', since: hour }).all(),
  () => offers.find({}, SCAN).where({ shop: 'shop5', since: hour }).all(),
);
await compare(
  'spending: on product 11',
  'byProduct',
  () => purchases.by('byProduct').find({ product: 'p11' }).select('cents').all(),
  () => purchases.find({}, SCAN).where({ product: 'p11' }).select('cents').all(),
);
await compare(
  'spending: above 99,000 cents',
  'large',
  () =>
    purchases
      .by('large')
      .find({ cents: { gte: 99_000 } })
      .all(),
  () =>
    purchases
      .find({}, SCAN)
      .where({ cents: { gte: 99_000 } })
      .all(),
);
await compare(
  'chat: who signs in',
  'byEmail',
  () => accounts.by('byEmail').find({ email: 'u3@example.org' }).all(),
  () => accounts.find({}, SCAN).where({ email: 'u3@example.org' }).all(),
);
await compare(
  'chat: the rooms of user 7',
  'byMember',
  async () => (await rooms.by('byMember').find({ members: 'u7' }).all()).map(({ id }) => id),
  async () =>
    (await rooms.find({}, SCAN).all()).filter(({ members }) => members.has('u7')).map(({ id }) => id),
);
await rejects(accounts.insert({ id: 'other', email: 'u3@example.org' }), { code: 'ERR_CONFLICT' });

console.log(
  `${4 * count + people.length + Math.ceil(count / 100)} rows and their entries in ${loading.toFixed(1)} s`,
);
console.log(results.toString());
console.log('A second account with the e-mail of the first was refused.');
