/** Entities with work that waits: entries of an eventual index, and entries of the change log that are open. */

import { Column, Entity, Index, part, RowKey } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';

@Entity({ table: { name: 'backlog_late', families: { d: {} } } })
@RowKey(part('id'))
@Index('byColor', [part('color')], { consistency: 'eventual' })
export class Late {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byColor: ['color'] };
  id!: string;
  @Column('d:c', text) color!: string;
}

@Entity({
  table: { name: 'backlog_kept', families: { d: {}, m: {} } },
  changes: { keep: 3_600_000, marks: 'm' },
})
@RowKey(part('id'))
export class Kept {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name!: string;
}
