/** The other stores behind the bench's calls, each used in the quickest way its binding has. */

import { type BenchStore, type Change, type StoreSettings, WIDE_COLUMNS } from './bench-store.js';
import { type LevelPeer, type LmdbPeer, openLevel, openLmdb, openRocks, type RocksPeer } from './peers.js';

const MOST_ROWS = 1000;
/** Behind every key of the bench: wide rows and counters stand there. */
const END = Buffer.alloc(16, 0xff);
const COUNTERS = Buffer.of(0xff);

/** The keys that stand for the columns of a wide row: behind all others. */
function wideKey(key: Buffer, column: number): Buffer {
  return Buffer.concat([END, key, Buffer.of(column)]);
}

function counterKey(key: Buffer): Buffer {
  return Buffer.concat([END, COUNTERS, key]);
}

function wideChanges(changes: readonly Change[]): Change[] {
  return changes.flatMap(({ key, value }) =>
    Array.from({ length: WIDE_COLUMNS }, (_, column) => ({ key: wideKey(key, column), value })),
  );
}

/** What a counter is after one is added to it. */
function counted(before: Uint8Array | undefined): Buffer {
  const value = Buffer.alloc(8);
  value.writeBigInt64BE(before === undefined ? 1n : Buffer.from(before).readBigInt64BE() + 1n);
  return value;
}

export class LevelStore implements BenchStore {
  readonly name = 'classic-level';

  private constructor(
    private readonly level: LevelPeer,
    private readonly sync: boolean,
  ) {}

  static async open(path: string, settings: StoreSettings): Promise<LevelStore> {
    const level = openLevel(path, { cacheSize: settings.cacheBytes, writeBufferSize: settings.memoryBytes });
    await level.open();
    return new LevelStore(level, settings.sync);
  }

  write(changes: readonly Change[]): Promise<void> {
    const operations = changes.map(({ key, value }) =>
      value === undefined ? { type: 'del' as const, key } : { type: 'put' as const, key, value },
    );
    return this.level.batch(operations, { sync: this.sync });
  }

  writeWide(changes: readonly Change[]): Promise<void> {
    return this.write(wideChanges(changes));
  }

  /** LevelDB writes files when its buffer is full. */
  async flush(): Promise<void> {}

  compact(): Promise<void> {
    return this.level.compactRange(Buffer.of(0), Buffer.alloc(400, 0xff));
  }

  close(): Promise<void> {
    return this.level.close();
  }

  get(key: Buffer): Uint8Array | undefined {
    return this.level.getSync(key);
  }

  getAwaited(key: Buffer): Promise<Uint8Array | undefined> {
    return this.level.get(key);
  }

  many(keys: readonly Buffer[]): Promise<(Uint8Array | undefined)[]> {
    return this.level.getMany(keys);
  }

  row(key: Buffer): Uint8Array | undefined {
    return this.level.getSync(key);
  }

  /** By one get for each: an iterator of LevelDB's binding costs more. */
  wide(key: Buffer): number {
    let count = 0;
    for (let column = 0; column < WIDE_COLUMNS; column++)
      if (this.level.getSync(wideKey(key, column)) !== undefined) count++;
    return count;
  }

  async range(start: Buffer, limit: number): Promise<number> {
    const iterator = this.level.iterator({
      gte: start,
      lt: END,
      highWaterMarkBytes: 1 << 20,
      ...(limit === Number.POSITIVE_INFINITY ? {} : { limit }),
    });
    let count = 0;
    for (;;) {
      const entries = await iterator.nextv(Math.min(limit, MOST_ROWS));
      if (entries.length === 0) break;
      for (const [, value] of entries) if (value.length === 0) throw new Error('A scan gave an empty value.');
      count += entries.length;
      if (count >= limit) break;
    }
    await iterator.close();
    return count;
  }

  put(key: Buffer, value: Buffer): Promise<void> {
    return this.level.put(key, value, { sync: this.sync });
  }

  async increment(key: Buffer): Promise<void> {
    const counter = counterKey(key);
    await this.level.put(counter, counted(this.level.getSync(counter)));
  }

  async checkAndPut(key: Buffer, expected: Buffer, value: Buffer): Promise<boolean> {
    const found = this.level.getSync(key);
    if (found === undefined || !expected.equals(found)) return false;
    await this.level.put(key, value);
    return true;
  }
}

export class LmdbStore implements BenchStore {
  readonly name = 'lmdb';

  private constructor(
    private readonly lmdb: LmdbPeer,
    private readonly sync: boolean,
  ) {}

  static async open(path: string, settings: StoreSettings): Promise<LmdbStore> {
    return new LmdbStore(openLmdb(path, !settings.sync), settings.sync);
  }

  async write(changes: readonly Change[]): Promise<void> {
    const { lmdb } = this;
    lmdb.transactionSync(() => {
      for (const { key, value } of changes) {
        if (value === undefined) void lmdb.remove(key);
        else void lmdb.put(key, value);
      }
    });
    if (this.sync) await lmdb.flushed;
  }

  writeWide(changes: readonly Change[]): Promise<void> {
    return this.write(wideChanges(changes));
  }

  async flush(): Promise<void> {}

  async compact(): Promise<void> {}

  close(): Promise<void> {
    return this.lmdb.close();
  }

  get(key: Buffer): Uint8Array | undefined {
    return this.lmdb.getBinary(key);
  }

  async getAwaited(key: Buffer): Promise<Uint8Array | undefined> {
    return this.lmdb.getBinary(key);
  }

  many(keys: readonly Buffer[]): Promise<(Uint8Array | undefined)[]> {
    return this.lmdb.getMany(keys);
  }

  row(key: Buffer): Uint8Array | undefined {
    return this.lmdb.getBinary(key);
  }

  wide(key: Buffer): number {
    let count = 0;
    const range = { start: wideKey(key, 0), end: wideKey(key, WIDE_COLUMNS) };
    for (const { value } of this.lmdb.getRange(range)) if (value.length > 0) count++;
    return count;
  }

  range(start: Buffer, limit: number): number {
    let count = 0;
    const end = END;
    const range = limit === Number.POSITIVE_INFINITY ? { start, end } : { start, end, limit };
    for (const { value } of this.lmdb.getRange(range)) {
      if (value.length === 0) throw new Error('A scan gave an empty value.');
      count++;
    }
    return count;
  }

  async put(key: Buffer, value: Buffer): Promise<void> {
    await this.lmdb.put(key, value);
    if (this.sync) await this.lmdb.flushed;
  }

  async increment(key: Buffer): Promise<void> {
    const { lmdb } = this;
    const counter = counterKey(key);
    lmdb.transactionSync(() => void lmdb.put(counter, counted(lmdb.getBinary(counter))));
  }

  async checkAndPut(key: Buffer, expected: Buffer, value: Buffer): Promise<boolean> {
    const { lmdb } = this;
    return lmdb.transactionSync(() => {
      const found = lmdb.getBinary(key);
      if (found === undefined || !expected.equals(found)) return false;
      void lmdb.put(key, value);
      return true;
    });
  }
}

/** All calls of its binding are asynchronous. */
export class RocksStore implements BenchStore {
  readonly name = 'rocksdb-native';

  private constructor(private readonly rocks: RocksPeer) {}

  static async open(path: string): Promise<RocksStore> {
    const rocks = openRocks(path);
    await rocks.ready();
    return new RocksStore(rocks);
  }

  async write(changes: readonly Change[]): Promise<void> {
    const batch = this.rocks.write({ autoDestroy: true });
    for (const { key, value } of changes) {
      if (value === undefined) batch.tryDelete(key);
      else batch.tryPut(key, value);
    }
    await batch.flush();
  }

  writeWide(changes: readonly Change[]): Promise<void> {
    return this.write(wideChanges(changes));
  }

  flush(): Promise<void> {
    return this.rocks.flush();
  }

  async compact(): Promise<void> {
    await this.rocks.flush();
    await this.rocks.compactRange();
  }

  close(): Promise<void> {
    return this.rocks.close();
  }

  async getAwaited(key: Buffer): Promise<Uint8Array | undefined> {
    return (await this.rocks.get(key)) ?? undefined;
  }

  async range(start: Buffer, limit: number): Promise<number> {
    let count = 0;
    const options = {
      capacity: Math.min(limit, MOST_ROWS),
      ...(limit === Number.POSITIVE_INFINITY ? {} : { limit }),
    };
    for await (const { value } of this.rocks.iterator({ gte: start, lt: END }, options)) {
      if (value.length === 0) throw new Error('A scan gave an empty value.');
      count++;
    }
    return count;
  }

  put(key: Buffer, value: Buffer): Promise<void> {
    return this.rocks.put(key, value);
  }
}
