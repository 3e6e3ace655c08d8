/** What each contestant does with a record of ten fields, in the quickest way that it has. */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Column, Entity, open, part, RowKey, Table, text } from '../../../src/index.js';
import { openEmbedded } from '../../../src/store/engine.js';
import { Get, Put, type Result, Scan, tableDescriptor } from '../../../src/table/index.js';
import { openLevel, openLmdb, projectRoot } from '../store/peers.js';
import { FIELD_BYTES, FIELDS } from './workloads.js';

const MiB = 2 ** 20;

interface YcsbSettings {
  readonly cacheBytes: number;
  /** Whether a write is acknowledged by the disk, or by the operating system. */
  readonly sync: boolean;
}

/** A record to be stored. */
interface KeyedRecord {
  readonly key: string;
  readonly fields: readonly string[];
}

/** Reads say how many fields they gave, scans how many records: the bench holds them to what is expected. Every field is read. */
export interface YcsbStore {
  load(records: readonly KeyedRecord[]): void | Promise<void>;
  read(key: string): number | Promise<number>;
  update(key: string, field: number, value: string): void | Promise<void>;
  insert(record: KeyedRecord): void | Promise<void>;
  scan(key: string, count: number): number | Promise<number>;
  modify(key: string, field: number, value: string): void | Promise<void>;
  close(): void | Promise<void>;
}

export const STORES: Readonly<
  Record<string, (folder: string, settings: YcsbSettings) => Promise<YcsbStore>>
> = {
  rowan: openTable,
  'rowan-entities': openEntities,
  lmdb: async (folder, settings) => new PackedLmdb(folder, settings, bare),
  'lmdb-fields': async (folder, settings) => new PackedLmdb(folder, settings, separate),
  'classic-level': (folder, settings) => PackedLevel.open(folder, settings, bare),
  'classic-level-fields': (folder, settings) => PackedLevel.open(folder, settings, separate),
  'better-sqlite3': (folder, settings) => openSqlite(folder, settings, 'openSqliteRecords'),
  drizzle: (folder, settings) => openSqlite(folder, settings, 'openDrizzleRecords'),
};

let sum = 0;

/** What a program does with a field is its own matter; here it reads every byte. */
function readField(bytes: Uint8Array, start: number, end: number): void {
  for (let at = start; at < end; at++) sum = (sum + bytes[at]!) | 0;
}

const FAMILY = 'f';
const COLUMNS = Array.from({ length: FIELDS }, (_, field) => Buffer.from(`field${field}`));

async function openTable(folder: string, { cacheBytes, sync }: YcsbSettings): Promise<YcsbStore> {
  const engine = await openEmbedded(folder, {
    blockCacheSize: cacheBytes,
    durability: sync ? 'FSYNC_WAL' : 'ASYNC_WAL',
  });
  await engine.admin.createTable(tableDescriptor('usertable', { [FAMILY]: {} }));
  const table = engine.table('usertable');
  const putOf = ({ key, fields }: KeyedRecord): Put => {
    const put = new Put(Buffer.from(key, 'latin1'));
    fields.forEach(
      (value, field) => void put.addColumn(FAMILY, COLUMNS[field]!, Buffer.from(value, 'latin1')),
    );
    return put;
  };
  const update = (key: string, field: number, value: string): Promise<void> =>
    table.put(
      new Put(Buffer.from(key, 'latin1')).addColumn(FAMILY, COLUMNS[field]!, Buffer.from(value, 'latin1')),
    );
  const fieldsOf = ({ cells }: Result): number => {
    for (const { value } of cells) readField(value, 0, value.length);
    return cells.length;
  };
  const read = (key: string): number => fieldsOf(table.getSync(new Get(Buffer.from(key, 'latin1'))));
  return {
    load: (records) => table.putAll(records.map(putOf)),
    read,
    update,
    insert: (record) => table.put(putOf(record)),
    scan: (key, count) => {
      const scanner = table.scanSync(new Scan().withStartRow(Buffer.from(key, 'latin1')).setLimit(count));
      let found = 0;
      for (let result = scanner.next(); result; result = scanner.next()) {
        const fields = fieldsOf(result);
        if (fields !== FIELDS) throw new Error(`A record has ${fields} fields.`);
        found++;
      }
      return found;
    },
    modify: (key, field, value) => {
      if (read(key) !== FIELDS) throw new Error(`${key} is not there.`);
      return update(key, field, value);
    },
    close: () => engine.close(),
  };
}

@Table({ name: 'usertable', families: { f: {} } })
class Users {}

@Entity({ table: Users })
@RowKey(part('id'))
class User {
  declare static readonly key: ['id'];
  id!: string;
  @Column('f:0', text) field0!: string;
  @Column('f:1', text) field1!: string;
  @Column('f:2', text) field2!: string;
  @Column('f:3', text) field3!: string;
  @Column('f:4', text) field4!: string;
  @Column('f:5', text) field5!: string;
  @Column('f:6', text) field6!: string;
  @Column('f:7', text) field7!: string;
  @Column('f:8', text) field8!: string;
  @Column('f:9', text) field9!: string;
}

function userOf({ key, fields: [a, b, c, d, e, f, g, h, i, j] }: KeyedRecord): User {
  const fields = {
    field0: a,
    field1: b,
    field2: c,
    field3: d,
    field4: e,
    field5: f,
    field6: g,
    field7: h,
    field8: i,
    field9: j,
  };
  return { id: key, ...fields } as User;
}

async function openEntities(folder: string, { cacheBytes, sync }: YcsbSettings): Promise<YcsbStore> {
  const durability = sync ? 'FSYNC_WAL' : 'ASYNC_WAL';
  const db = await open({ path: folder, entities: [User], blockCacheSize: cacheBytes, durability });
  const users = db.repository(User);
  const patch = (field: number, value: string): Partial<User> => ({ [`field${field}`]: value });
  const update = async (id: string, field: number, value: string): Promise<void> => {
    await users.update({ id }, patch(field, value));
  };
  return {
    load: async (records) => {
      await users.batch(
        (batch) => {
          for (const record of records) batch.insert(userOf(record));
          return batch;
        },
        { atomic: true },
      );
    },
    read: async (id) => ((await users.get({ id }))?.field9.length === FIELD_BYTES ? FIELDS : 0),
    update,
    insert: async (record) => void (await users.insert(userOf(record))),
    scan: async (id, count) =>
      (
        await users
          .find({ id: { gte: id } }, { fullScan: true })
          .limit(count)
          .all()
      ).length,
    modify: async (id, field, value) => {
      if (!(await users.get({ id }))) throw new Error(`${id} is not there.`);
      await update(id, field, value);
    },
    close: () => db.close(),
  };
}

/** How lmdb and classic-level have a record as one value. */
interface RecordFormat {
  pack(fields: readonly string[]): Buffer;
  /** Reads every field; returns how many there are. */
  read(value: Uint8Array): number;
  /** Where a field begins. */
  offsetOf(value: Buffer, field: number): number;
}

/** Fields of one length behind each other, which are read where they are: for a program that needs no value for itself. */
const bare: RecordFormat = {
  pack: (fields) => Buffer.from(fields.join(''), 'latin1'),
  read(value) {
    const fields = value.length / FIELD_BYTES;
    for (let field = 0; field < fields; field++)
      readField(value, field * FIELD_BYTES, (field + 1) * FIELD_BYTES);
    return fields;
  },
  offsetOf: (_, field) => field * FIELD_BYTES,
};

/** A table of the fields' lengths before them. Each is given as a value of its own, as results of Rowan's tables have them. */
const separate: RecordFormat = {
  pack(fields) {
    const lengths = Buffer.alloc(2 * FIELDS);
    fields.forEach((text, field) => void lengths.writeUInt16LE(text.length, 2 * field));
    return Buffer.concat([lengths, bare.pack(fields)]);
  },
  read(value) {
    const fields: Uint8Array[] = [];
    for (let at = 2 * FIELDS, field = 0; field < FIELDS; field++) {
      const length = value[2 * field]! | (value[2 * field + 1]! << 8);
      fields.push(new Uint8Array(value.buffer, value.byteOffset + at, length));
      at += length;
    }
    for (const field of fields) readField(field, 0, field.length);
    return fields.length;
  },
  offsetOf(value, field) {
    let at = 2 * FIELDS;
    for (let before = 0; before < field; before++) at += value.readUInt16LE(2 * before);
    return at;
  },
};

/** Returns how many fields a record has; 0 when it is not there. */
function readRecord(format: RecordFormat, value: Uint8Array | undefined): number {
  return value === undefined ? 0 : format.read(value);
}

function withField(format: RecordFormat, value: Uint8Array | undefined, field: number, text: string): Buffer {
  if (value === undefined) throw new Error('A record is not there.');
  const changed = Buffer.from(value);
  changed.write(text, format.offsetOf(changed, field), 'latin1');
  return changed;
}

class PackedLmdb implements YcsbStore {
  private readonly lmdb: ReturnType<typeof openLmdb>;

  constructor(
    folder: string,
    { sync }: YcsbSettings,
    private readonly format: RecordFormat,
  ) {
    this.lmdb = openLmdb(folder, !sync);
  }

  async load(records: readonly KeyedRecord[]): Promise<void> {
    const { lmdb, format } = this;
    await lmdb.transaction(() => {
      for (const { key, fields } of records) void lmdb.put(Buffer.from(key, 'latin1'), format.pack(fields));
    });
  }

  read(key: string): number {
    return readRecord(this.format, this.lmdb.getBinary(Buffer.from(key, 'latin1')));
  }

  update(key: string, field: number, value: string): void {
    const bytes = Buffer.from(key, 'latin1');
    this.lmdb.putSync(bytes, withField(this.format, this.lmdb.getBinary(bytes), field, value));
  }

  insert({ key, fields }: KeyedRecord): void {
    this.lmdb.putSync(Buffer.from(key, 'latin1'), this.format.pack(fields));
  }

  scan(key: string, limit: number): number {
    let found = 0;
    for (const { value } of this.lmdb.getRange({ start: Buffer.from(key, 'latin1'), limit }))
      found += readRecord(this.format, value) / FIELDS;
    return found;
  }

  modify(key: string, field: number, value: string): void {
    const bytes = Buffer.from(key, 'latin1');
    const record = this.lmdb.getBinary(bytes);
    readRecord(this.format, record);
    this.lmdb.putSync(bytes, withField(this.format, record, field, value));
  }

  close(): Promise<void> {
    return this.lmdb.close();
  }
}

class PackedLevel implements YcsbStore {
  private constructor(
    private readonly level: ReturnType<typeof openLevel>,
    private readonly sync: boolean,
    private readonly format: RecordFormat,
  ) {}

  static async open(
    folder: string,
    { cacheBytes, sync }: YcsbSettings,
    format: RecordFormat,
  ): Promise<PackedLevel> {
    const level = openLevel(folder, { cacheSize: cacheBytes, writeBufferSize: 64 * MiB });
    await level.open();
    return new PackedLevel(level, sync, format);
  }

  load(records: readonly KeyedRecord[]): Promise<void> {
    const puts = records.map(({ key, fields }) => ({
      type: 'put' as const,
      key: Buffer.from(key, 'latin1'),
      value: this.format.pack(fields),
    }));
    return this.level.batch(puts, { sync: false });
  }

  read(key: string): number {
    return readRecord(this.format, this.level.getSync(Buffer.from(key, 'latin1')));
  }

  update(key: string, field: number, value: string): Promise<void> {
    const bytes = Buffer.from(key, 'latin1');
    return this.level.put(bytes, withField(this.format, this.level.getSync(bytes), field, value), {
      sync: this.sync,
    });
  }

  insert({ key, fields }: KeyedRecord): Promise<void> {
    return this.level.put(Buffer.from(key, 'latin1'), this.format.pack(fields), { sync: this.sync });
  }

  async scan(key: string, limit: number): Promise<number> {
    const iterator = this.level.iterator({ gte: Buffer.from(key, 'latin1'), limit, highWaterMarkBytes: MiB });
    let found = 0;
    for (let some = await iterator.nextv(limit); some.length > 0; some = await iterator.nextv(limit))
      for (const [, value] of some) found += readRecord(this.format, value) / FIELDS;
    await iterator.close();
    return found;
  }

  modify(key: string, field: number, value: string): Promise<void> {
    const bytes = Buffer.from(key, 'latin1');
    const record = this.level.getSync(bytes);
    readRecord(this.format, record);
    return this.level.put(bytes, withField(this.format, record, field, value), { sync: this.sync });
  }

  close(): Promise<void> {
    return this.level.close();
  }
}

/** Its packages are those of `bench:orm`. */
async function openSqlite(
  folder: string,
  settings: YcsbSettings,
  opener: 'openSqliteRecords' | 'openDrizzleRecords',
): Promise<YcsbStore> {
  const file = pathToFileURL(join(projectRoot, 'test/bench/orm/peers/records.mjs'));
  const peers = (await import(file.href)) as Record<
    typeof opener,
    (folder: string, settings: YcsbSettings) => YcsbStore
  >;
  return peers[opener](folder, settings);
}
