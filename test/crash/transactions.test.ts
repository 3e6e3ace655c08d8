/**
 * Histories of transactions that meet each other, flushes and losses of power. Every write of an account names its
 * transaction and the one whose version it took the place of, so what each transaction read and what came before what is
 * known, and a history is right when the transactions stand in an order without a cycle:
 *
 * * who wrote a version comes before who read it, and before who wrote the next;
 * * who read a version comes before who wrote the next one; who read a range, before who put something into it;
 * * who had ended comes before who began later (strictness; it finds lost and stale reads too).
 */

import { expect, it } from 'vitest';
import { Column, Entity, Index, part, RowKey, Table } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { type Database, open } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import type { Transaction } from '../../src/features/transactions/handle.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { FaultFileSystem } from '../store/fs/fault-fs.js';
import { seededRandom } from './seeded-random.js';

@Table({ name: 'accounts', families: { d: {} } })
class Accounts {}

@Entity({ table: Accounts })
@RowKey(part('id'))
class Account {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byOwner: ['owner'] };
  id!: string;
  @Index('byOwner', { unique: true }) @Column('d:o', text) owner!: string;
  @Column('d:b', int32) balance!: number;
  /** The transaction that wrote this version, and the one that wrote the version before it. */
  @Column('d:w', text) by!: string;
  @Column('d:p', text) before!: string;
}

const HISTORIES = scaled(5, 15, 500);
const WORKERS = 6;
const ROUNDS = 6;
const OWNERS = 9;
const START = ['a', 'c', 'e', 'g'];
const EACH = 100;
const NOBODY = '';

/** What one transaction has seen and done; of its last attempt. */
interface Node {
  readonly name: string;
  readonly begun: number;
  ended: number;
  /** Account -> the transaction whose version was read. */
  reads: Map<string, string>;
  /** It read all accounts. */
  ranged: boolean;
  /** Account -> the transaction whose version was replaced. */
  writes: Map<string, string>;
}

/** What became of the transactions of a history, and what happened to the store. */
function noCounts() {
  return {
    committed: 0,
    /** Runs of transactions that others had overtaken before. */
    repeated: 0,
    overtaken: 0,
    conflicts: 0,
    failed: 0,
    crashes: 0,
    flushes: 0,
    unknown: 0,
  };
}

class History {
  readonly nodes = new Map<string, Node>();
  readonly counts = noCounts();
  private clock = 0;
  private disk: MemoryFileSystem;
  private files: FaultFileSystem;
  db!: Database<EmbeddedEngine>;
  /** Goes up at each loss of power: what was under way before it is told nothing any more. */
  life = 0;
  /** Resolved when the power is there again. */
  private up: Promise<void> = Promise.resolve();

  constructor(readonly random: () => number) {
    this.disk = new MemoryFileSystem({ syncDelay: () => this.turn() });
    this.files = new FaultFileSystem(this.disk);
  }

  async turn(): Promise<void> {
    if (this.random() < 0.4) await new Promise((resolve) => setImmediate(resolve));
  }

  async open(): Promise<void> {
    this.db = await open({
      path: '/db',
      fileSystem: this.files,
      entities: [Account],
      automatic: false,
      background: 'inline',
      // Transactions that meet a change of segments.
      walSegmentSize: 4000,
    });
  }

  /** The disk is full for the next writes; what is lost by that has had no effect at all. */
  fill(writes: number): void {
    const shortWrite = (length: number): number => Math.floor(this.random() * (length + 1));
    const after = Math.floor(this.random() * 6);
    this.files.inject({ calls: ['write'], after, times: writes, errno: 'ENOSPC', shortWrite });
  }

  /** The disk has room again. */
  free(): void {
    this.files.clear();
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)]!;
  }

  async run(
    name: string,
    body: (tx: Transaction, node: Node) => Promise<void>,
  ): Promise<'committed' | 'overtaken' | 'conflict' | 'failed' | 'lost'> {
    // Nobody begins anything on a machine without power.
    await this.up;
    const { life } = this;
    let runs = 0;
    const node: Node = {
      name,
      begun: this.clock++,
      ended: Number.POSITIVE_INFINITY,
      reads: new Map(),
      ranged: false,
      writes: new Map(),
    };
    this.nodes.set(name, node);
    try {
      await this.db.transaction(
        async (tx) => {
          if (runs++ > 0) this.counts.repeated++;
          node.reads = new Map();
          node.writes = new Map();
          node.ranged = false;
          await body(tx, node);
        },
        { attempts: 3 },
      );
      // Acknowledged behind a loss of power: the machine that would have told of it is gone.
      if (life !== this.life) return 'lost';
      node.ended = this.clock++;
      return 'committed';
    } catch (error) {
      if (life !== this.life) return 'lost';
      if (!(error instanceof RowanError)) throw error;
      this.nodes.delete(name);
      if (error.code === 'ERR_SERIALIZATION') return 'overtaken';
      if (error.code === 'ERR_CONFLICT') return 'conflict';
      if (error.code === 'ERR_IO') return 'failed';
      throw error;
    }
  }

  /** The power goes: everything acknowledged must be there, of the rest each transaction whole or not at all. */
  async crash(): Promise<void> {
    this.life++;
    const before = this.db;
    const keepUnsynced = this.pick([0, 0.5, 1]);
    this.disk = this.disk.crash(
      { keepUnsynced, random: this.random, unit: 512 },
      { syncDelay: () => this.turn() },
    );
    this.files = new FaultFileSystem(this.disk);
    this.up = this.open();
    await this.up;
    await before.close().catch(() => undefined);
    this.counts.crashes++;
    await this.look(`crash ${this.life}`);
  }

  /** Reads everything in a transaction, and checks what holds at each moment. */
  async look(name: string): Promise<void> {
    const outcome = await this.run(name, async (tx, node) => {
      await readAll(tx, node);
    });
    expect(outcome === 'committed' || outcome === 'lost', name).toBe(true);
  }

  /** What became of those whose end nobody was told: they are there if somebody has seen what they wrote. */
  settle(): void {
    const seen = new Set<string>();
    for (const { reads, writes } of this.nodes.values()) {
      for (const by of reads.values()) seen.add(by);
      for (const by of writes.values()) seen.add(by);
    }
    for (const [name, node] of this.nodes) {
      if (node.ended !== Number.POSITIVE_INFINITY) continue;
      this.counts.unknown++;
      if (!seen.has(name)) this.nodes.delete(name);
    }
  }
}

async function readAll(tx: Transaction, node: Node): Promise<Account[]> {
  const all: Account[] = await tx.repository(Account).find({}, { fullScan: true }).all();
  for (const { id, by } of all) node.reads.set(id, by);
  node.ranged = true;
  expect(
    all.reduce((sum, { balance }) => sum + balance, 0),
    `${node.name}: money is neither made nor lost`,
  ).toBe(START.length * EACH);
  const owners = all.map(({ owner }) => owner);
  expect(new Set(owners).size, `${node.name}: no owner has two accounts`).toBe(owners.length);
  return all;
}

async function read(tx: Transaction, node: Node, id: string): Promise<Account> {
  const account = (await tx.repository(Account).get({ id }))!;
  node.reads.set(id, account.by);
  return account;
}

async function write(tx: Transaction, node: Node, account: Account, balance: number): Promise<void> {
  node.writes.set(account.id, account.by);
  await tx
    .repository(Account)
    .put({ id: account.id, owner: account.owner, balance, by: node.name, before: account.by });
}

/** One of the things that clients do. */
async function act(history: History, name: string): Promise<void> {
  const chance = history.random();
  const [one, other] = [history.pick(START), history.pick(START)];
  const amount = Math.floor(history.random() * 50);
  const outcome = await history.run(name, async (tx, node) => {
    if (chance < 0.45) {
      // A transfer.
      if (one === other) return;
      const from = await read(tx, node, one);
      await history.turn();
      const to = await read(tx, node, other);
      await history.turn();
      await write(tx, node, from, from.balance - amount);
      await history.turn();
      await write(tx, node, to, to.balance + amount);
    } else if (chance < 0.65) {
      // A new account, for somebody who has none.
      const id = `n${name}`;
      const owner = `owner ${Math.floor(history.random() * OWNERS)}`;
      node.reads.set(id, NOBODY);
      node.writes.set(id, NOBODY);
      await history.turn();
      await tx.repository(Account).insert({ id, owner, balance: 0, by: name, before: NOBODY });
    } else if (chance < 0.85) {
      // What is written depends on all there is: write skew, and phantoms.
      const all = await readAll(tx, node);
      await history.turn();
      const account = history.pick(all);
      await write(tx, node, account, account.balance);
    } else {
      await readAll(tx, node);
      await history.turn();
      await readAll(tx, node);
    }
  });
  if (outcome === 'committed') history.counts.committed++;
  if (outcome === 'overtaken') history.counts.overtaken++;
  if (outcome === 'conflict') history.counts.conflicts++;
  if (outcome === 'failed') history.counts.failed++;
}

/** The transactions of a cycle, or undefined. @throws when two have taken the place of one version. */
function cycleOf(nodes: ReadonlyMap<string, Node>): string[] | undefined {
  const next = new Map<string, string>();
  for (const { name, writes } of nodes.values()) {
    for (const [id, before] of writes) {
      const place = `${id} ${before}`;
      if (next.has(place)) throw new Error(`${name} and ${next.get(place)} have both replaced ${place}.`);
      next.set(place, name);
    }
  }
  const after = new Map<string, Set<string>>();
  const edge = (from: string | undefined, to: string | undefined): void => {
    if (from === undefined || to === undefined || from === to || !nodes.has(from) || !nodes.has(to)) return;
    if (!after.has(from)) after.set(from, new Set());
    after.get(from)!.add(to);
  };
  const inserts = [...nodes.values()].flatMap(({ name, writes }) =>
    [...writes].filter(([, before]) => before === NOBODY).map(([id]) => [id, name] as const),
  );
  for (const { name, reads, writes, ranged, ended } of nodes.values()) {
    for (const [id, by] of reads) {
      edge(by, name);
      edge(name, next.get(`${id} ${by}`));
    }
    for (const before of writes.values()) edge(before, name);
    if (ranged) for (const [id, inserter] of inserts) if (!reads.has(id)) edge(name, inserter);
    for (const other of nodes.values()) if (ended < other.begun) edge(name, other.name);
  }
  const state = new Map<string, 'open' | 'done'>();
  const path: string[] = [];
  const visit = (name: string): string[] | undefined => {
    state.set(name, 'open');
    path.push(name);
    for (const to of after.get(name) ?? []) {
      if (state.get(to) === 'open') return [...path.slice(path.indexOf(to)), to];
      const found = state.has(to) ? undefined : visit(to);
      if (found !== undefined) return found;
    }
    path.pop();
    state.set(name, 'done');
    return undefined;
  };
  for (const name of nodes.keys()) {
    const found = state.has(name) ? undefined : visit(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function historyOf(seed: number, faults: boolean): Promise<History> {
  const history = new History(seededRandom(seed));
  await history.open();
  await history.run('start', async (tx, node) => {
    for (const id of START) {
      node.writes.set(id, NOBODY);
      await tx
        .repository(Account)
        .insert({ id, owner: `of ${id}`, balance: EACH, by: 'start', before: NOBODY });
    }
  });
  const worker = async (number: number): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) {
      await act(history, `${number}.${round}.${history.life}`);
      await history.turn();
    }
  };
  const operator = async (): Promise<void> => {
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 6; i++) await history.turn();
      const { life } = history;
      history.counts.flushes++;
      const { admin } = history.db;
      const works = [
        () => admin.flush('accounts'),
        () => admin.majorCompact('accounts'),
        async () => {
          if ((await admin.getRegions('accounts')).length < 3) await admin.split('accounts');
        },
      ];
      await history
        .pick(works)()
        .catch((error) => {
          if (life === history.life && !(faults && error.code === 'ERR_IO')) throw error;
        });
    }
  };
  const power = async (): Promise<void> => {
    const crashes = Math.floor(history.random() * 3);
    for (let i = 0; i < crashes; i++) {
      for (let j = 0; j < 12; j++) await history.turn();
      await history.crash();
    }
  };
  const disk = async (): Promise<void> => {
    for (let round = 0; faults && round < 8; round++) {
      for (let i = 0; i < 3; i++) await history.turn();
      history.fill(2);
      for (let i = 0; i < 5; i++) await history.turn();
      history.free();
    }
  };
  await Promise.all([
    ...Array.from({ length: WORKERS }, (_, i) => worker(i)),
    operator(),
    faults ? disk() : power(),
  ]);
  await history.look('end');
  const stored: Account[] = await history.db.repository(Account).find({}, { fullScan: true }).all();
  for (const { id, owner } of stored) {
    const found: Account[] = await history.db.repository(Account).by('byOwner').find({ owner }).all();
    expect(found.map((account) => account.id)).toEqual([id]);
  }
  await history.db.close();
  history.settle();
  return history;
}

it('the checker finds what is wrong', () => {
  const node = (
    name: string,
    begun: number,
    reads: [string, string][],
    writes: [string, string][],
  ): Node => ({
    name,
    begun,
    ended: begun + 0.5,
    reads: new Map(reads),
    ranged: false,
    writes: new Map(writes),
  });
  const graph = (...all: Node[]): Map<string, Node> => new Map(all.map((each) => [each.name, each]));
  const start = node(
    's',
    0,
    [],
    [
      ['a', ''],
      ['b', ''],
    ],
  );
  const skew = [
    {
      ...node(
        'x',
        1,
        [
          ['a', 's'],
          ['b', 's'],
        ],
        [['a', 's']],
      ),
      ended: 9,
    },
    {
      ...node(
        'y',
        2,
        [
          ['a', 's'],
          ['b', 's'],
        ],
        [['b', 's']],
      ),
      ended: 9,
    },
  ];
  expect(cycleOf(graph(start, ...skew))).toBeDefined();
  const stale = [node('x', 1, [['a', 's']], [['a', 's']]), node('y', 3, [['a', 's']], [])];
  expect(cycleOf(graph(start, ...stale))).toBeDefined();
  const phantom = {
    ...node(
      'y',
      1,
      [
        ['a', 's'],
        ['b', 'x'],
      ],
      [['a', 's']],
    ),
    ranged: true,
    ended: 9,
  };
  const insert = {
    ...node(
      'x',
      2,
      [['b', 's']],
      [
        ['b', 's'],
        ['c', ''],
      ],
    ),
    ended: 9,
  };
  expect(cycleOf(graph(start, phantom, insert))).toBeDefined();
  expect(
    cycleOf(graph(start, node('x', 1, [['a', 's']], [['a', 's']]), node('y', 2, [['a', 'x']], []))),
  ).toBeUndefined();
});

it.each([
  ['losses of power', false],
  ['a disk that is full now and then', true],
] as const)('transactions are strictly serializable, over flushes, splits and %s', async (_, faults) => {
  const sums = noCounts();
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const { nodes, counts } = await historyOf(seed, faults).catch((cause: Error) => {
      throw new Error(`history ${seed}: ${cause.message}`, { cause });
    });
    expect(cycleOf(nodes), `history ${seed}`).toBeUndefined();
    for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += counts[name];
  }
  expect(sums.committed).toBeGreaterThan(HISTORIES * WORKERS);
  expect(Math.min(sums.repeated, sums.conflicts, faults ? sums.failed : sums.crashes)).toBeGreaterThan(0);
  record('transactions', {
    histories: HISTORIES,
    'transactions committed': sums.committed,
    'runs again of overtaken transactions': sums.repeated,
    'given up as overtaken': sums.overtaken,
    ...(faults ? { 'failed for a full disk': sums.failed } : { 'losses of power': sums.crashes }),
  });
});
