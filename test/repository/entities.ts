import {
  AfterLoad,
  AfterPut,
  BeforePut,
  Column,
  Columns,
  Counter,
  CreatedAt,
  Embedded,
  Entity,
  part,
  type RandomlySalted,
  RowKey,
  salt,
  Table,
  UpdatedAt,
  Version,
  type Versioned,
  Versions,
} from '../../decorators/index.js';
import { bytes, int32, text, uint32 } from '../../src/codec/index.js';

@Table({
  name: 'accounts',
  families: { d: { versions: 5, keepDeletedCells: 'TRUE' }, f: {}, h: { versions: 10 } },
})
class Accounts {}

class Address {
  @Column('ac', text) city!: string;
  @Column('az', text) zip?: string | null;
}

/** A little of everything. */
@Entity({ table: Accounts })
@RowKey(part('id'))
export class Account {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name!: string;
  @Column('d:e', text) email?: string | null;
  @Column('d:p', bytes) photo?: Uint8Array | null;
  @Column('d:l', text) log?: string | null;
  @Counter('d:v') visits?: bigint | null;
  @Embedded('d', () => Address) address?: Address | null;
  @Columns('f:', { value: int32 }) friends?: Map<string, number | null>;
  @Versions('h:r', int32) ratings?: Versioned<number>[] | null;
}

@Table({ name: 'documents', families: { d: {} } })
class Documents {}

/** Optimistic locking, times and hooks. */
@Entity({ table: Documents })
@RowKey(part('id'))
export class Document {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:t', text) title!: string;
  @Version('d:v') version?: number;
  @CreatedAt('d:c') createdAt?: Date;
  @UpdatedAt('d:u') updatedAt?: Date;
  calls?: string[];

  @BeforePut() clean(): void {
    this.title = this.title.trim();
  }

  @AfterPut() async stored(): Promise<void> {
    this.calls = [...(this.calls ?? []), 'stored'];
  }

  @AfterLoad() loaded(): void {
    this.calls = ['loaded'];
  }
}

@Table({ name: 'foreign', families: { d: {} } })
class Foreign {}

/** A table that others write: no marker. */
@Entity({ table: Foreign, marker: false })
@RowKey(part('id'))
export class Legacy {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:a', text) a?: string | null;
  @Column('d:b', text) b?: string | null;
}

@Table({ name: 'spread', families: { d: {} } })
class Spread {}

/** The salt is drawn at each write. */
@Entity({ table: Spread })
@RowKey(salt(4, { assign: 'random' }), part('id'), part('n', uint32))
export class Scattered {
  declare static readonly key: RandomlySalted<['id', 'n']>;
  id!: string;
  n!: number;
  @Column('d:a', text) a?: string;
}
