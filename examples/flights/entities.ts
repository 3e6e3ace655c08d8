/** Airports and the flights that left them, in one table: an airport and its flights stand side by side. */

import {
  Column,
  Entity,
  float64,
  int32,
  part,
  recordType,
  reverseTimestamp,
  rowKey,
  salt,
  Table,
  text,
  uint32,
} from 'rowan-orm';

@Table({
  name: 'travel:flights',
  families: {
    // Names and codes repeat, so they compress well; numbers do not, and are read without unpacking.
    i: { compression: 'SNAPPY', dataBlockEncoding: 'FAST_DIFF' },
    m: { compression: 'NONE' },
  },
  presplit: { regions: 4 },
})
export class Travel {}

@Entity({ table: Travel, recordType: 1 })
export class Airport {
  static readonly key = rowKey(salt(16, ['iata']), 'iata', recordType());
  iata!: string;
  @Column('i:n', text) name!: string;
  @Column('i:c', text) city!: string;
  @Column('i:s', text) state!: string;
  @Column('i:y', text) country!: string;
  @Column('m:lat', float64) latitude!: number;
  @Column('m:lon', float64) longitude!: number;
}

/** The latest departure of an airport comes first: the timestamp stands reversed in the key. */
@Entity({ table: Travel, recordType: 2 })
export class Flight {
  static readonly key = rowKey(
    salt(16, ['iata']),
    'iata',
    recordType(),
    reverseTimestamp('departedAt'),
    part('number', uint32),
  );
  /** The airport it left. */
  iata!: string;
  departedAt!: Date;
  number!: number;
  @Column('i:d', text) destination!: string;
  /** Minutes; negative when it was early. */
  @Column('m:del', int32) delay!: number;
  /** Miles. */
  @Column('m:dis', int32) distance!: number;
}
