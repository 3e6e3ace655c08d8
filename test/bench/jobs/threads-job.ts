/** The job that is worked by one thread and by two: sums of a number by group, over entities. */

import { Column, Entity, part, RowKey, Table } from '../../../decorators/index.js';
import { text } from '../../../src/codec/index.js';
import type { Database } from '../../../src/database.js';
import { float64 } from '../../../src/key/index.js';
import { entitySink } from '../../../src/public/jobs.js';
import { TABLE } from './table.js';

@Table({ name: TABLE, families: { d: {} } })
class Items {}

@Entity({ table: Items, name: 'Item', marker: false })
@RowKey(part('id', text))
export class Item {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:group', text) group!: string;
  @Column('d:name', text) name!: string;
  @Column('d:number', text) number!: string;
  @Column('d:text', text) text!: string;
  @Column('d:time', text) time!: string;
}

@Table({ name: 'bench_sums', families: { d: {} } })
class Sums {}

@Entity({ table: Sums, name: 'Sum' })
@RowKey(part('group', text))
export class Sum {
  declare static readonly key: ['group'];
  group!: string;
  @Column('d:s', float64) sum!: number;
}

export function job(db: Database) {
  return db
    .job('bench-threads')
    .from(db.repository(Item).find({}, { fullScan: true }))
    .map<string, number>(({ group, number, text: words }, emit) => emit(group, Number(number) + words.length))
    .combine((_, values) => values.reduce((sum, n) => sum + n, 0))
    .reduce((group, values) => ({ group, sum: values.reduce((sum, n) => sum + n, 0) }))
    .to(entitySink(db.repository(Sum)));
}
