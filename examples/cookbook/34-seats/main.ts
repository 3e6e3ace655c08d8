/** Seats of a show: held for some minutes, booked, or free again; never given twice. */

// #region entity
import { Column, date, Entity, index, part, rowKey, salt, Table, text, uint16 } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:seats', families: { d: {} }, presplit: { regions: 4 } })
class Seats {}

@Entity({ table: Seats })
class Seat {
  static readonly key = rowKey(
    salt(4, ['show']),
    part('show', text),
    part('row', text),
    part('number', uint16),
  );
  static readonly indexes = {
    free: index('show', 'row', part('number', uint16), { where: { heldBy: null } }),
    byBooking: index('booking'),
  };
  show!: string;
  row!: string;
  number!: number;
  @Column('d:h', text) heldBy?: string | null;
  @Column('d:u', date) heldUntil?: Date | null;
  @Column('d:b', text) booking?: string | null;
}
// #endregion

await using recipe = await openRecipe([Seat]);
const seats = recipe.db.repository(Seat);
for (const row of ['A', 'B']) {
  await seats.putMany([1, 2, 3].map((number) => ({ show: 'hamlet', row, number })));
}
const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 12, minute));

recipe.section('keys');
recipe.key(Seat, { show: 'hamlet', row: 'A', number: 2 });

recipe.section('queries');
// #region queries
type Place = { row: string; number: number };
const keyOf = (place: Place) => ({ show: 'hamlet', ...place });

/** Holds one seat for two minutes. The check fails if somebody else was faster. */
async function hold(customer: string, place: Place, now: Date): Promise<boolean> {
  const seat = await seats.get(keyOf(place));
  if (seat === null || seat.booking != null) return false;
  if (seat.heldUntil != null && seat.heldUntil > now) return false;
  const heldUntil = new Date(now.getTime() + 120_000);
  const unchanged = { heldBy: seat.heldBy ?? null, heldUntil: seat.heldUntil ?? null, booking: null };
  return (await seats.check(keyOf(place), unchanged).update({ heldBy: customer, heldUntil })).ok;
}

/** Holds all of the seats or none. If one fails, it releases the others. */
async function holdAll(customer: string, places: Place[], now: Date): Promise<boolean> {
  for (const [index, place] of places.entries()) {
    if (await hold(customer, place, now)) continue;
    for (const held of places.slice(0, index)) {
      await seats.check(keyOf(held), { heldBy: customer }).update({ heldBy: null, heldUntil: null });
    }
    return false;
  }
  return true;
}

/** Books a held seat, if the hold has not been lost. */
const book = async (customer: string, place: Place, booking: string) =>
  (await seats.check(keyOf(place), { heldBy: customer, booking: null }).update({ booking })).ok;

const [a1, a2, a3] = [1, 2, 3].map((number) => ({ row: 'A', number })) as [Place, Place, Place];
recipe.print(`> ann holds A1 and A2: ${await holdAll('ann', [a1, a2], at(0))}`);
recipe.print(`> bob wants A3 and A2: ${await holdAll('bob', [a3, a2], at(1))}`);
await recipe.show('The free seats', seats.by('free').find({ show: 'hamlet' }).select('heldBy'));
recipe.print(`> ann books A1: ${await book('ann', a1, 'b7')}`);
recipe.print(`> bob takes A2 when ann's hold has ended: ${await hold('bob', a2, at(5))}`);
recipe.print(`> ann books A2, too late: ${await book('ann', a2, 'b7')}`);
await recipe.show('The seats of a booking', seats.by('byBooking').find({ booking: 'b7' }).select('heldBy'));
const ended = seats.find({ show: 'hamlet' }).where({ booking: null, heldUntil: { lte: at(9) } });
const { changed } = await ended.updateAll({ heldBy: null, heldUntil: null });
recipe.print(`> holds that have ended and are free again: ${changed}`);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:seats_idx');
