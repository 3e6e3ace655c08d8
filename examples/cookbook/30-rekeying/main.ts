/** A new key for an entity, while the table is read and written. */

// #region entity
import { Column, Entity, part, rowKey, salt, Table, text, uint32 } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:tickets', families: { d: {} } })
class TicketsTable {}
@Table({ name: 'cookbook:tickets_by_event', families: { d: {} }, presplit: { regions: 4 } })
class TicketsByEvent {}

/** Numbers rise, so every new ticket goes to the last region, and the tickets of an event are not adjacent. */
@Entity({ table: TicketsTable })
class Ticket {
  static readonly key = rowKey(part('number', uint32), part('event', text));
  number!: number;
  event!: string;
  @Column('d:o', text) owner!: string;
}

/** The same properties in the same columns, with another key. */
@Entity({ table: TicketsByEvent })
class TicketOfEvent {
  static readonly key = rowKey(salt(4, ['event']), part('event', text), part('number', uint32));
  event!: string;
  number!: number;
  @Column('d:o', text) owner!: string;
}
// #endregion

await using recipe = await openRecipe([Ticket, TicketOfEvent]);
const { db } = recipe;
const [before, after] = [db.repository(Ticket), db.repository(TicketOfEvent)];
const owners = ['ann', 'bob', 'eve'];
await before.putMany(owners.map((owner, i) => ({ number: 100 + i, event: i < 2 ? 'opera' : 'film', owner })));

recipe.section('keys');
recipe.key(Ticket, { number: 101, event: 'opera' });
recipe.key(TicketOfEvent, { number: 101, event: 'opera' });

recipe.section('queries');
// #region queries
await recipe.show(
  'Tickets of the opera, before',
  before.find({}, { fullScan: true }).where({ event: 'opera' }),
);
const rekey = db.rekey(Ticket, TicketOfEvent);
recipe.print(`> Problems: ${(await rekey.plan()).problems.length}`);
await rekey.run();
recipe.print(`> Copied and compared: ${(await rekey.status())?.state}`);
await before.update({ number: 101, event: 'opera' }, { owner: 'dan' }); // writers continue
await rekey.cutOver();
recipe.print(`> The new key counts: ${(await rekey.status())?.state}`);
await recipe.show('Tickets of the opera, after', after.find({ event: 'opera' }));
await rekey.cleanup();
recipe.print(`> The old rows are gone: ${(await rekey.status())?.state}`);
// #endregion

recipe.section('cost');
for (const name of ['tickets', 'tickets_by_event']) await recipe.size(`cookbook:${name}`);
