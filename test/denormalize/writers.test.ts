/**
 * Sixteen writers change sources while others write the rows that hold copies, move them from one source to another, flush,
 * repair and count; and the power goes in between. When the outbox is empty every copy is what its source is, by a loop over
 * the rows and by `check`, and summaries, also one by a copied property, are what a recount says.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Column, Denormalized, Entity, Index, part, RowKey, Summary, salt } from '../../decorators/index.js';
import { decimal, int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import { uint32 } from '../../src/key/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { MemoryFileSystem, openMemory } from '../../src/testing/index.js';
import { seededRandom } from '../crash/seeded-random.js';
import { scaled } from '../proof/scale.js';

@Entity({ table: { name: 'places', families: { d: {} } } })
@RowKey(part('id', uint32))
class Place {
  declare static readonly key: ['id'];
  id!: number;
  @Column('d:c', text) city?: string | null;
  @Column('d:z', int32) zip?: number | null;
}

/** More of them name one place than one step changes: the outbox changes them. */
@Entity({ table: { name: 'parcels', families: { d: {} } } })
@RowKey(salt(2), part('no', uint32))
@Denormalized(() => Place, { via: 'placeId', fields: { city: 'city', zip: 'zip' }, fanOut: 4 })
@Index('byCity', [part('city')])
@Summary('inCity', {
  by: ['city'],
  figures: { parcels: 'count', weight: { sum: 'weight' }, most: { max: 'pieces' } },
})
@Summary('ofPlace', { by: ['placeId'], figures: { parcels: 'count' } })
class Parcel {
  declare static readonly key: ['no'];
  declare static readonly indexes: { byCity: ['city'] };
  declare static readonly summaries: {
    inCity: {
      by: ['city'];
      figures: { parcels: 'count'; weight: { sum: 'weight' }; most: { max: 'pieces' } };
    };
    ofPlace: { by: ['placeId']; figures: { parcels: 'count' } };
  };
  no!: number;
  @Column('d:p', uint32) placeId?: number | null;
  @Column('d:c', text) city?: string | null;
  @Column('d:z', int32) zip?: number | null;
  @Column('d:w', decimal(2)) weight?: string | null;
  @Column('d:n', int32) pieces?: number | null;
}

/** Few enough for the step of their place: never to be seen with another's values. */
@Entity({ table: { name: 'tags', families: { d: {} } } })
@RowKey(part('placeId', uint32), part('no', uint32))
@Denormalized(() => Place, { via: { id: 'placeId' }, fields: { town: 'city' }, fanOut: 8 })
class Tag {
  declare static readonly key: ['placeId', 'no'];
  placeId!: number;
  no!: number;
  @Column('d:t', text) town?: string | null;
  @Column('d:x', int32) other?: number | null;
}

/** By the outbox, too, and where there are more in several steps of it. */
@Entity({ table: { name: 'labels', families: { d: {} } } })
@RowKey(part('placeId', uint32), part('no', uint32))
@Denormalized(() => Place, { via: { id: 'placeId' }, fields: { town: 'city' }, fanOut: 1 })
class Label {
  declare static readonly key: ['placeId', 'no'];
  placeId!: number;
  no!: number;
  @Column('d:t', text) town?: string | null;
}

const entities = [Place, Parcel, Tag, Label];
type Shop = Database<EmbeddedEngine>;

const PLACES = 6;
const PARCELS = 60;
const TAGS = 4;
/** Of each place: the outbox takes two steps for 300, between which others write. */
const LABELS = scaled(8, 300, 300);
const CITIES = ['Bern', 'Basel', 'Biel', 'Chur', null];
const SOURCE_WRITERS = 16;
const ROW_WRITERS = 6;
/** Turns of each writer in a round. Behind each round copies are held against their sources. */
const TURNS = 2;
/** At the deep size the writers take about a minute. */
const ROUNDS = scaled(1, 3, 120);

/** Whole numbers below `n`, and one of several. */
function chanceOf(seed: number) {
  const random = seededRandom(seed);
  const below = (n: number): number => Math.floor(random() * n);
  return { below, of: <T>(...all: readonly T[]): T => all[below(all.length)]! };
}

type Chance = ReturnType<typeof chanceOf>;

const OVERTAKEN: readonly string[] = ['ERR_NOT_FOUND', 'ERR_CONFLICT', 'ERR_SERIALIZATION'];

/** What a writer may meet: the row went away, or was changed by others more often than a transaction tries again. */
async function unlessOvertaken(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (error instanceof RowanError && OVERTAKEN.includes(error.code)) return;
    throw error;
  });
}

async function changePlace(db: Shop, { below, of }: Chance): Promise<void> {
  const places = db.repository(Place);
  const id = below(PLACES);
  const values = { city: of(...CITIES), zip: of(null, 3000, 4000) };
  switch (below(6)) {
    case 0:
      return void (await places.delete({ id }));
    case 1:
      return unlessOvertaken(places.update({ id }, { city: values.city }));
    case 2:
      return unlessOvertaken(
        db.transaction(async (tx) => {
          const was = await tx.repository(Place).get({ id });
          await tx.repository(Place).put({ id, city: was?.city === 'Bern' ? 'Thun' : values.city });
        }),
      );
    case 3:
      return void (await db.batch(
        (batch) => {
          batch.of(Place).put({ id, ...values });
          batch.of(Place).put({ id: (id + 1) % PLACES, ...values });
        },
        { atomic: true },
      ));
    default:
      return places.put({ id, ...values });
  }
}

async function changeRows(db: Shop, { below, of }: Chance): Promise<void> {
  const parcels = db.repository(Parcel);
  const parcel = (no: number) => ({
    no,
    placeId: of(null, ...Array.from({ length: PLACES + 1 }, (_, id) => id)),
    weight: of(null, '0.01', '99999999999999.99'),
    pieces: of(null, 1, 2, 3),
    city: of(undefined, 'said'),
  });
  const no = below(PARCELS);
  switch (below(8)) {
    case 0:
      return void (await parcels.delete({ no }));
    case 1:
      return void (await parcels
        .find({ no: { gte: no, lt: no + 5 } })
        .where({ pieces: { gte: 2 } })
        .deleteAll({ batch: 2 }));
    case 2: {
      const { placeId, pieces } = parcel(no);
      const some = parcels.find({ no: { gte: no, lt: no + 5 } });
      return void (await some.updateAll({ placeId, pieces }, { batch: 2 }));
    }
    case 3:
      return unlessOvertaken(parcels.update({ no }, { placeId: below(PLACES), weight: '-3.50' }));
    case 4:
      return unlessOvertaken(
        db.transaction(async (tx) => {
          const was = await tx.repository(Parcel).get({ no });
          await tx.repository(Parcel).put({ ...parcel(no), pieces: (was?.pieces ?? 0) + 1 });
          await tx.repository(Place).put({ id: below(PLACES), city: of(...CITIES) });
        }),
      );
    case 5:
      return parcels.putMany(Array.from({ length: 5 }, (_, i) => parcel((no + i) % PARCELS)));
    case 6:
      return db.repository(Tag).put({ placeId: below(PLACES), no: below(TAGS), other: below(9) });
    default:
      return parcels.put(parcel(no));
  }
}

/** What is done beside: files, repairs that must find their way among writers, and a look at what one step must keep. */
async function beside(db: Shop, { below, of }: Chance): Promise<void> {
  switch (below(4)) {
    case 0:
      return db.admin.flush(of('places', 'parcels', 'parcels_idx', 'tags'));
    case 1:
      return void (await db.denormalized(Parcel).repair());
    case 2:
      return void (await db.summary(Parcel, 'inCity').check());
    default:
      return unlessOvertaken(
        db.transaction(async (tx) => {
          const placeId = below(PLACES);
          const place = await tx.repository(Place).get({ id: placeId });
          for (const { town } of await tx.repository(Tag).find({ placeId }).all())
            expect(town ?? null).toBe(place?.city ?? null);
        }),
      );
  }
}

/** No copy differs from its source. */
async function expectTrueCopies(db: Shop): Promise<Parcel[]> {
  await db.denormalized(Parcel).drain();
  const places = await db.repository(Place).find({}, { fullScan: true }).all();
  const parcels = await db.repository(Parcel).find({}, { fullScan: true }).all();
  const cityOf = (id: number | null | undefined) => places.find((place) => place.id === id);
  for (const { no, placeId, city, zip } of parcels) {
    const place = cityOf(placeId);
    expect({ no, city, zip }).toEqual({ no, city: place?.city ?? undefined, zip: place?.zip ?? undefined });
  }
  const tags = await db.repository(Tag).find({}, { fullScan: true }).all();
  const labels = await db.repository(Label).find({}, { fullScan: true }).all();
  expect(labels.length).toBe(PLACES * LABELS);
  for (const { placeId, no, town } of [...tags, ...labels])
    expect({ placeId, no, town: town ?? null }).toEqual({ placeId, no, town: cityOf(placeId)?.city ?? null });
  return parcels;
}

/** Nor do `check`, figures and indexes say anything else. */
async function expectNoDrift(db: Shop): Promise<void> {
  const parcels = await expectTrueCopies(db);
  const none = { stale: 0, missing: 0, extra: 0 };
  expect(await db.denormalized(Parcel).check()).toMatchObject({ rows: parcels.length, ...none, pending: 0 });
  for (const target of [Tag, Label] as const)
    expect(await db.denormalized(target as typeof Tag).check()).toMatchObject({ ...none, pending: 0 });

  const cities = await db
    .repository(Parcel)
    .find({}, { fullScan: true })
    .groupBy('city')
    .aggregate((on) => ({
      parcels: on.count(),
      weight: on.sum('weight'),
      most: on.max('pieces'),
    }));
  expect(await db.summary(Parcel, 'inCity').find({})).toEqual(cities.filter(({ city }) => city !== null));
  const counts = await db.repository(Parcel).find({}, { fullScan: true }).groupBy('placeId').count();
  expect(await db.summary(Parcel, 'ofPlace').find({})).toEqual(
    counts.flatMap(({ placeId, count }) => (placeId === null ? [] : [{ placeId, parcels: count }])),
  );
  for (const name of ['inCity', 'ofPlace'] as const)
    expect(await db.summary(Parcel, name).check()).toMatchObject({ ...none, entries: 0 });
  for (const city of CITIES) {
    if (city === null) continue;
    const found = await db.repository(Parcel).by('byCity').find({ city }).all();
    expect(found.map(({ no }) => no).sort()).toEqual(
      parcels
        .filter((one) => one.city === city)
        .map(({ no }) => no)
        .sort(),
    );
  }
}

async function turns(count: number, work: () => Promise<void>): Promise<void> {
  for (let i = 0; i < count; i++) await work();
}

test('copies and summaries come to what their sources are, among writers of both, and after a loss of power', async () => {
  const waits = chanceOf(7);
  const disk = new MemoryFileSystem({
    // A sync takes a while, in which the others go on.
    syncDelay: async () => {
      for (let turn = waits.below(3); turn > 0; turn--) await nextTurn();
    },
  });
  const db = await openMemory({ entities, disk });
  const chance = chanceOf(20_261_122);
  await turns(PARCELS, () => changeRows(db, chance));
  for (let placeId = 0; placeId < PLACES; placeId++)
    await db.repository(Label).putMany(Array.from({ length: LABELS }, (_, no) => ({ placeId, no })));
  const sources = Array.from({ length: SOURCE_WRITERS }, (_, i) => chanceOf(100 + i));
  const writers = Array.from({ length: ROW_WRITERS }, (_, i) => chanceOf(200 + i));
  const images: MemoryFileSystem[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all([
      ...sources.map((own) => turns(TURNS, () => changePlace(db, own))),
      ...writers.map((own) => turns(TURNS, () => changeRows(db, own))),
      beside(db, chance),
      turns(round % 10 === 0 ? 1 : 0, async () => {
        await changePlace(db, chance);
        images.push(disk.crash({ keepUnsynced: chance.below(2), random: () => 0.5 }));
      }),
    ]);
    await expectTrueCopies(db);
  }
  await expectNoDrift(db);
  await db.close();
  for (const image of images) {
    const after = await openMemory({ entities, disk: image });
    await expectNoDrift(after);
    await after.close();
  }
}, 600_000);
