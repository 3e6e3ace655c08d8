/** The author, time and content of each change. An entry is written before the change, and never changed. */

// #region entity
import { Column, Entity, part, reverseTimestamp, rowKey, Table, text, uint32 } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:contracts', families: { d: {} } })
class Contracts {}

@Entity({ table: Contracts })
class Contract {
  static readonly key = rowKey(part('id', text));
  id!: string;
  @Column('d:s', text) status!: string;
}

@Table({ name: 'cookbook:audit', families: { d: { compression: 'SNAPPY' } } })
class Audit {}

/** The newest entry of a record first. A number makes entries of one millisecond unique. */
@Entity({ table: Audit })
class AuditEntry {
  static readonly key = rowKey(
    part('kind', text),
    part('id', text),
    reverseTimestamp('at'),
    part('n', uint32),
  );
  kind!: string;
  id!: string;
  at!: Date;
  n!: number;
  @Column('d:w', text) who!: string;
  @Column('d:c', text) change!: string;
}
// #endregion

await using recipe = await openRecipe([Contract, AuditEntry]);
const contracts = recipe.db.repository(Contract);
const entries = recipe.db.repository(AuditEntry);

// #region writes
let written = 0;
async function setStatus(who: string, id: string, status: string, at: Date): Promise<void> {
  const change = JSON.stringify({ status });
  await entries.insert({ kind: 'contract', id, at, n: written++, who, change });
  await contracts.put({ id, status });
}
await setStatus('ann', 'k1', 'draft', new Date('2026-01-01T09:00:00Z'));
await setStatus('bob', 'k1', 'signed', new Date('2026-01-02T10:00:00Z'));
await setStatus('ann', 'k1', 'void', new Date('2026-01-03T11:00:00Z'));
// #endregion

recipe.section('keys');
recipe.key(AuditEntry, { kind: 'contract', id: 'k1', at: new Date('2026-01-03T11:00:00Z'), n: 2 });

recipe.section('queries');
// #region queries
const contract = { kind: 'contract', id: 'k1' };
await recipe.show('The last change', entries.find(contract).limit(1));
const january2 = { gte: new Date('2026-01-02'), lt: new Date('2026-01-03') };
await recipe.show('What happened on January 2?', entries.find({ ...contract, at: january2 }));
await recipe.show('What did ann change?', entries.find(contract).where({ who: 'ann' }).select('change'));
const again = { ...contract, at: new Date('2026-01-03T11:00:00Z'), n: 2, who: 'eve', change: '{}' };
recipe.print(
  `> An entry is not overwritten: ${await entries.insert(again).catch((error: { code: string }) => error.code)}`,
);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:audit');
