import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  boolean,
  Column,
  date,
  Entity,
  float64,
  int32,
  open,
  part,
  RowKey,
  Table,
  text,
  uint32,
} from '../../../src/index.js';
import { type Contestant, projectRoot, type Reading as ReadingRow } from './contestant.js';

@Table({ name: 'readings', families: { d: {} } })
class Readings {}

@Entity({ table: Readings })
@RowKey(part('sensor'), part('seq', uint32))
export class Reading {
  declare static readonly key: ['sensor', 'seq'];
  sensor!: string;
  seq!: number;
  @Column('d:k', text) kind!: string;
  @Column('d:u', text) unit!: string;
  @Column('d:v', float64) value!: number;
  @Column('d:q', int32) quality!: number;
  @Column('d:o', boolean) valid!: boolean;
  @Column('d:t', date) takenAt!: Date;
}

const manifest = readFileSync(join(projectRoot, 'package.json'), 'utf8');
const { version } = JSON.parse(manifest) as { version: string };

export async function openRowan(folder: string): Promise<Contestant> {
  const database = await open({ path: folder, entities: [Reading] });
  const readings = database.repository(Reading);
  return {
    name: 'rowan',
    version,
    insert: (rows: readonly ReadingRow[]) =>
      readings.batch(
        (batch) => {
          for (const row of rows) batch.insert(row);
          return batch;
        },
        { atomic: true },
      ),
    put: (rows: readonly ReadingRow[]) => readings.putMany(rows),
    get: (sensor, seq) => readings.get({ sensor, seq }),
    range: (sensor, from, to) => readings.find({ sensor, seq: { gte: from, lt: to } }).all(),
    all: () => readings.find({}, { fullScan: true }).all(),
    overlaps: true,
    change: (sensor, seq, by) =>
      database.transaction(async (tx) => {
        const own = tx.repository(Reading);
        const { quality } = await own.getOrThrow({ sensor, seq });
        await own.update({ sensor, seq }, { quality: quality + by });
      }),
    close: () => database.close(),
  };
}
