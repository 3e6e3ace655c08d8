/** Data that expires: by family, by entity, by row; and minimum versions, which are kept. */

// #region entity
import { Column, Entity, part, rowKey, Table, Ttl, text, type Versioned, Versions } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

const HOUR = 3_600_000;

@Table({ name: 'cookbook:sessions', families: { d: {} } })
class Sessions {}

/** A session expires as a whole: an hour after its write, or at the time that the row declares. */
@Entity({ table: Sessions, ttl: HOUR })
class Session {
  static readonly key = rowKey(part('token', text));
  token!: string;
  @Column('d:u', text) user!: string;
  @Ttl() expiresIn?: number;
}

/** Cells of the family expire after a day, except the newest two of each column. */
@Table({ name: 'cookbook:devices', families: { seen: { ttl: 86_400, versions: 5, minVersions: 2 } } })
class Devices {}

@Entity({ table: Devices })
class Device {
  static readonly key = rowKey(part('device', text));
  device!: string;
  @Versions('seen:ip', text) addresses!: Versioned<string>[];
}
// #endregion

await using recipe = await openRecipe([Session, Device]);
const sessions = recipe.db.repository(Session);
const devices = recipe.db.repository(Device);

// #region writes
const now = Date.now();
const ago = (hours: number) => ({ timestamp: now - hours * HOUR });
await sessions.put({ token: 'new', user: 'ann' });
await sessions.put({ token: 'old', user: 'bob' }, ago(2)); // expired an hour ago
await sessions.put({ token: 'kept', user: 'eve', expiresIn: 30 * 24 * HOUR }, ago(2)); // has its own time to live
for (const [hours, value] of [
  [90, '10.0.0.1'],
  [60, '10.0.0.2'],
  [30, '10.0.0.3'],
] as const) {
  await devices.put({ device: 'd1', addresses: [{ value, ...ago(hours) }] });
}
// #endregion

recipe.section('keys');
recipe.key(Session, { token: 'new' });

recipe.section('queries');
// #region queries
await recipe.show('Which sessions have not expired?', sessions.find({}, { fullScan: true }).select('user'));
recipe.print(`> Is there a session "old"? ${await sessions.exists({ token: 'old' })}`);
recipe.print('> Of three addresses older than a day, the two that are kept');
recipe.print(...(await devices.history({ device: 'd1' }, 'addresses')).map(({ value }) => value));
// #endregion

recipe.section('cost');
await recipe.size('cookbook:sessions');
