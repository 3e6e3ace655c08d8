/** The state of what Rowan derives from rows: indexes, summaries, copies. Reads no rows of entities. */

import { OUTBOX_TABLE } from '../../repository/index.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { EntitySchema } from '../../schema/types.js';
import { Scan } from '../../table/index.js';
import type { HealthInfo } from './api.js';
import type { StudioDatabase } from './studio-database.js';
import { reason } from './values.js';

/** Notes of the outbox that are counted. */
const MOST_NOTES = 1000;

/** The state of every index, summary and set of copies, in the order of their declaration. */
export async function healthOf(db: StudioDatabase): Promise<HealthInfo[]> {
  const health: HealthInfo[] = [];
  const hasCopies = db.schema.entities.some(({ copies }) => copies.length > 0);
  const waiting = hasCopies ? await waitingNotes(db) : 0;
  for (const entity of db.schema.entities) {
    for (const index of entity.indexes) health.push(indexHealth(db, entity, index));
    for (const { name } of entity.summaries) health.push(await summaryHealth(db, entity, name));
    for (const { target, fields } of entity.copies) {
      health.push({
        entity: entity.name,
        kind: 'copies',
        name: `${fields.map(({ column }) => column.property).join(', ')} of ${db.schema.entity(target()).name}`,
        state: waiting === 0 ? 'active' : 'behind',
        note:
          waiting === 0
            ? 'No change of a source waits.'
            : `${waiting}${waiting === MOST_NOTES ? ' or more' : ''} changes wait in the outbox (of any entity).`,
      });
    }
  }
  return health;
}

function indexHealth(
  db: StudioDatabase,
  { target, name: entity }: EntitySchema,
  { name, unique, eventual }: EntitySchema['indexes'][number],
): HealthInfo {
  const { state } = db.index(target as KeyedClass, name as never);
  const kinds = [unique ? 'unique' : '', eventual ? 'eventual' : ''].filter((each) => each !== '');
  return { entity, kind: 'index', name, state: state ?? 'unknown', note: kinds.join(', ') };
}

async function summaryHealth(
  db: StudioDatabase,
  { target, name: entity }: EntitySchema,
  name: string,
): Promise<HealthInfo> {
  try {
    const state = (await db.summary?.(target as KeyedClass, name as never).state()) ?? 'unknown';
    return { entity, kind: 'summary', name, state, note: '' };
  } catch (error) {
    // Its table may not be there yet.
    return { entity, kind: 'summary', name, state: 'unknown', note: reason(error) };
  }
}

async function waitingNotes(db: StudioDatabase): Promise<number> {
  if (!(await db.admin.tableExists(OUTBOX_TABLE))) return 0;
  const scanner = db.engine.table(OUTBOX_TABLE).scan(new Scan().setLimit(MOST_NOTES));
  try {
    return (await scanner.nextBatch(MOST_NOTES)).length;
  } finally {
    await scanner.close();
  }
}
