/** A program that writes things, whose connections are cut and that ends in the middle of writes. */

import { Database } from '../../../src/database.js';
import { RowanError } from '../../../src/errors.js';
import type { HBaseEngine } from '../../../src/hbase/engine.js';
import { compileSchema } from '../../../src/mapper/index.js';
import type { Repository } from '../../../src/repository/index.js';
import type { KeyedClass } from '../../../src/schema/entity-types.js';
import { Mortal } from '../../proof/dying.js';
import type { Random } from '../../query/model/random.js';
import { ProxyNet } from '../chaos/proxy-net.js';
import { connectShared } from '../connect.js';
import { withClock } from './clock.js';
import { COLORS, type Declared, IDS, MAILS, OWNERS, type Thing } from './declared.js';
import { GONE, type RowHistory } from './history.js';

/** What is certainly refused: nothing was written. */
const REFUSED = new Set(['ERR_CONFLICT', 'ERR_NOT_FOUND', 'ERR_REFERENCE', 'ERR_VALIDATION']);
/** What a program is told whose connections are cut, whose calls are aborted, or that has ended. */
const LOST = new Set(['ERR_CONNECTION', 'ERR_TIMEOUT', 'ERR_ABORTED', 'ERR_CLOSED']);

/** Ms. */
const SKEW = 7000;

/** What all writers of a run share. */
export interface Shared {
  readonly declared: Declared;
  readonly rows: ReadonlyMap<string, RowHistory>;
  readonly log: string[];
  now(): number;
}

export class Writer {
  private writes = 0;

  private constructor(
    readonly name: string,
    private readonly shared: Shared,
    private readonly random: Random,
    private readonly net: ProxyNet,
    private readonly engine: HBaseEngine,
    private readonly mortal: Mortal,
    readonly db: Database,
  ) {}

  static async begin(name: string, shared: Shared, random: Random): Promise<Writer> {
    const net = new ProxyNet();
    const engine = (await connectShared({
      resolveAddress: net.resolveAddress,
      rpcTimeout: 3000,
      operationTimeout: 20_000,
    })) as HBaseEngine;
    // Clocks of programs may differ by so much.
    const mortal = new Mortal(withClock(engine, random.pick([0, 0, -SKEW, SKEW])));
    const { thing, owner } = shared.declared;
    const db = new Database(compileSchema([thing, owner] as never), mortal.mortal, 'verify');
    await db.ready();
    return new Writer(name, shared, random, net, engine, mortal, db);
  }

  get isDead(): boolean {
    return this.mortal.isDead;
  }

  /** It makes so many more calls. */
  dieAfter(calls: number): void {
    this.mortal.dieAfter(calls);
  }

  /** Its connections are cut after so many more bytes, and made anew. */
  cutAfter(direction: 'request' | 'response', bytes: number): void {
    this.net.cutAfter(direction, bytes);
  }

  /** Its work after the answers is done, or it ends. */
  async end(): Promise<void> {
    await this.db.close().catch(() => undefined);
    await this.mortal.arrived();
    await this.engine.close();
    await this.net.close();
  }

  private get things(): Repository<KeyedClass> {
    return this.db.repository(this.shared.declared.thing);
  }

  /** One write after the other. */
  async write(count: number): Promise<void> {
    for (let i = 0; i < count && !this.isDead; i++) await this.one();
  }

  private values(patch: boolean): Partial<Thing> {
    const { random } = this;
    const values: Partial<Thing> = {};
    const say = <K extends keyof Thing>(name: K, value: Thing[K]): void => {
      if (random.chance(0.75)) values[name] = random.chance(0.12) ? (null as never) : value;
      else if (!patch && random.chance(0.8)) values[name] = value;
    };
    say('color', random.pick(COLORS));
    say('size', random.below(4));
    say('mail', random.pick(MAILS));
    say('owner', random.pick(OWNERS));
    return values;
  }

  private async one(): Promise<void> {
    const { random, shared, things } = this;
    const tag = `${this.name}${this.writes++}`;
    const id = random.pick(IDS);
    const key = { id } as never;
    const limit = 1 + random.below(30);
    const options = random.pick([
      ...Array<undefined>(6),
      { timeout: limit },
      { signal: AbortSignal.timeout(limit) },
    ]);
    const entity = (patch: boolean) => ({ id, ...this.values(patch), tag }) as never;
    const patch = () => ({ ...this.values(true), tag }) as never;
    const soft = shared.declared.features.has('softDelete');
    const kinds = [
      'put',
      'insert',
      'update',
      'upsert',
      'mutate',
      'replace',
      'delete',
      'many',
      'all',
      'check',
      'batch',
      'owner',
      'owner',
      ...(random.chance(0.4) ? (['ownerGone', 'deleteAll'] as const) : []),
      ...(soft ? (['leave', 'restore'] as const) : []),
    ] as const;
    const kind = random.pick(kinds);
    const told = (write: () => Promise<unknown>, ids = [id], becomes = tag, mayMiss = false) =>
      this.told(
        `${kind} ${ids.join(',')} ${becomes}${options === undefined ? '' : ` ${Object.keys(options).join()}`}`,
        write,
        ids,
        becomes,
        mayMiss,
      );
    switch (kind) {
      case 'put':
        return told(() => things.put(entity(false), options));
      case 'insert':
        return told(() => things.insert(entity(false), options));
      case 'update':
        return told(() => things.update(key, patch(), options));
      case 'upsert':
        return told(() => things.upsert(entity(false), patch(), options));
      case 'mutate':
        return told(() => things.mutate(key, (row) => row.set(patch()), options));
      case 'replace':
        return told(() => things.replace(entity(false), options));
      case 'delete':
        if (soft) return told(() => things.purge(key, options), [id], GONE);
        return told(() => things.delete(key, options), [id], GONE);
      case 'leave':
        return told(() => things.delete(key, options), []);
      case 'restore':
        return told(() => things.restore(key, options), []);
      case 'check':
        return told(
          () => things.check(key, { color: random.pick(COLORS) } as never).update(patch(), options),
          [id],
          tag,
          true,
        );
      case 'many': {
        const ids = IDS.filter(() => random.chance(0.5));
        const entities = ids.map((each) => ({ id: each, ...this.values(false), tag }) as never);
        return told(() => things.putMany(entities, options), ids);
      }
      case 'batch': {
        const [one, other] = [id, random.pick(IDS)];
        return told(
          async () => {
            const values = entity(false);
            const outcomes = await things.batch((batch) => {
              batch.put(values);
              return one === other ? batch : batch.update({ id: other } as never, patch());
            }, options);
            for (const outcome of outcomes)
              if (!outcome.ok && !REFUSED.has(outcome.error.code)) throw outcome.error;
          },
          one === other ? [one] : [one, other],
          tag,
          true,
        );
      }
      case 'all': {
        const query = things.find({} as never, { fullScan: true, ...options } as never);
        return told(() => query.updateAll(patch()), IDS, tag, true);
      }
      case 'deleteAll': {
        if (soft) return;
        const query = things
          .find({} as never, { fullScan: true, ...options } as never)
          .where({ color: random.pick(COLORS) } as never);
        return told(() => query.deleteAll(), IDS, GONE, true);
      }
      case 'owner':
      case 'ownerGone': {
        const owners = this.db.repository(shared.declared.owner);
        const owner = random.pick(OWNERS);
        const cascades = kind === 'ownerGone' && shared.declared.rule === 'cascade';
        return told(
          () =>
            kind === 'owner'
              ? owners.put({ id: owner, name: `${owner}-${random.below(3)}` } as never, options)
              : owners.delete({ id: owner } as never, options),
          cascades ? IDS : [],
          GONE,
          true,
        );
      }
    }
  }

  /** @param mayMiss whether it succeeds also where it has changed no row. */
  private async told(
    what: string,
    write: () => Promise<unknown>,
    ids: readonly string[],
    becomes: string,
    mayMiss: boolean,
  ): Promise<void> {
    const { rows, log } = this.shared;
    const begun = this.shared.now();
    const own = ids.map((id) => {
      const row = rows.get(id)!;
      return { row, write: row.begin(becomes, begun) };
    });
    let outcome = 'ok';
    try {
      await write();
      const ended = this.shared.now();
      for (const { write: one } of own) {
        one.ended = ended;
        one.isMade = !mayMiss;
      }
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      outcome = error.code;
      const isLost = LOST.has(outcome);
      if (!isLost && !REFUSED.has(outcome)) throw error;
      const ended = this.shared.now();
      for (const { row, write: one } of own) {
        // Of several rows some may be written.
        if (isLost) continue;
        if (ids.length === 1) row.refuse(one);
        else one.ended = ended;
      }
    }
    log.push(`${begun} ${this.name} ${what}: ${outcome}`);
  }
}
