/**
 * The embedded engine without steps over several rows, so that a step is one row, as on HBase. Suites of HBase's
 * drivers run on it without a server, and programs may end after any of its calls.
 */

import { expect } from 'vitest';
import { Database } from '../../src/database.js';
import { ClosedError } from '../../src/errors.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { Schema } from '../../src/schema/index.js';
import type { EntityClass } from '../../src/schema/types.js';
import { openEmbedded } from '../../src/store/engine.js';
import type { Engine, Table } from '../../src/table/index.js';
import { MemoryFileSystem, openMemory } from '../../src/testing/index.js';
import { Mortal } from './dying.js';
import { LateRequests } from './late.js';
import { StampingServer } from './server-times.js';

const STEPS = new Set<PropertyKey>([
  'atomic',
  'getSync',
  'scanSync',
  'getAllSync',
  'batchSync',
  'transaction',
  'commits',
]);

/** The engine as it would be without steps. */
export function stepless(engine: Engine): Engine {
  return hiding(engine, (target, name) => {
    if (name === 'table') return (table: string) => hiding(target.table(table), plain);
    if (name === 'capabilities') return { ...target.capabilities, sync: false, atomicBatch: false };
    return plain(target, name);
  });
}

function hiding<T extends Engine | Table>(target: T, get: (target: T, name: PropertyKey) => unknown): T {
  return new Proxy(target, {
    get: (of, name) => (STEPS.has(name) ? undefined : get(of, name)),
    has: (of, name) => !STEPS.has(name) && name in of,
  });
}

function plain(target: object, name: PropertyKey): unknown {
  const value: unknown = Reflect.get(target, name, target);
  return typeof value === 'function' ? value.bind(target) : value;
}

/** An object with another property in place of one of its own. */
export function overriding<T extends object>(target: T, property: keyof T, by: unknown): T {
  return new Proxy(target, {
    get: (of, name) => {
      if (name === property) return by;
      const value: unknown = Reflect.get(of, name);
      return typeof value === 'function' ? value.bind(of) : value;
    },
  });
}

const compiled = new Map<EntityClass | undefined, { entities: EntityClass[]; schema: Schema }[]>();

/** The schema of programs that declare these entities, compiled once: they are many, and each lives for a few calls. */
export function schemaOf(...entities: EntityClass[]): Schema {
  const known = compiled.get(entities[0]) ?? [];
  const found = known.find(
    (each) =>
      each.entities.length === entities.length && each.entities.every((one, i) => one === entities[i]),
  );
  if (found !== undefined) return found.schema;
  const schema = compileSchema(entities);
  compiled.set(entities[0], [...known, { entities, schema }]);
  return schema;
}

/** A program: a database whose engine can be made to fail. */
export interface Program {
  readonly db: Database;
  readonly mortal: Mortal;
}

/** Writes by their names, and what stands before each of them. */
interface EndedWrites {
  readonly writes: Readonly<Record<string, (db: Database) => Promise<unknown>>>;
  prepare(): Promise<unknown>;
  /** Every `stride`-th call of a write is the last one of its program. */
  readonly stride: number;
  /** By how many calls the first end of each write comes after that of the write before. Default 3. */
  readonly spacing?: number;
}

/**
 * Ends programs after calls of their writes, and calls `check` after each write, which returns how much is off.
 * @returns how many programs ended, and how much was off after them
 */
export async function endAfterCalls(
  { writes, prepare, stride, spacing = 3 }: EndedWrites,
  program: () => Promise<Program>,
  check: (when: string) => Promise<number>,
): Promise<{ readonly died: number; readonly off: number }> {
  let died = 0;
  let off = 0;
  for (const [place, [name, write]] of Object.entries(writes).entries()) {
    for (let after = (place * spacing) % stride; ; after += stride) {
      await prepare();
      const { db, mortal } = await program();
      mortal.dieAfter(after);
      await write(db).catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONNECTION'));
      await mortal.arrived();
      off += await check(`${name}, ended after ${after}`);
      if (!mortal.isDead) break;
      died++;
    }
  }
  return { died, off };
}

/** A store in memory that programs share like HBase. */
export interface SteplessStore extends AsyncDisposable {
  /** Another program on the same tables. */
  program(...entities: EntityClass[]): Promise<Program>;
  /** Starts another program, one of whose requests may arrive late. */
  late(...entities: EntityClass[]): Promise<Program & { readonly requests: LateRequests }>;
}

/** `transit`: its changes are stamped as HBase's are, and requests and answers take that long ({@link StampingServer}). */
export async function openStepless(
  clock: () => number = Date.now,
  transit?: () => Promise<void>,
): Promise<SteplessStore> {
  const engine = await openEmbedded('/memory', {
    clock,
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
    durability: 'ASYNC_WAL',
  });
  const databases: Database[] = [];
  const shared = transit && new StampingServer(engine, { clock, transit });
  const ofProgram = (): Engine => stepless(shared?.engine() ?? engine);
  return {
    async program(...entities) {
      const mortal = new Mortal(ofProgram());
      const db = new Database(schemaOf(...entities), viewOf(mortal.mortal), 'create');
      await db.ready();
      databases.push(db);
      return { db, mortal };
    },
    async late(...entities) {
      const mortal = new Mortal(ofProgram());
      const requests = new LateRequests(mortal.mortal);
      const db = new Database(schemaOf(...entities), viewOf(requests.engine), 'create');
      await db.ready();
      databases.push(db);
      return { db, mortal, requests };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(databases.map((db) => db.close()));
      await engine.close();
    },
  };
}

/** Programs close their own view of it, which takes no calls any more. */
function viewOf(engine: Engine): Engine {
  let isClosed = false;
  const checked = (target: object, name: PropertyKey): unknown => {
    const value = plain(target, name);
    if (typeof value !== 'function') return value;
    return (...args: unknown[]) => {
      if (!isClosed) return value(...args);
      const error = new ClosedError('The program has closed its database.');
      if (name === 'scan') throw error;
      return Promise.reject(error);
    };
  };
  return hiding(engine, (target, name) => {
    if (name === 'table') return (table: string) => hiding(target.table(table), checked);
    if (name !== 'close') return plain(target, name);
    return async () => {
      isClosed = true;
    };
  });
}

/** Opens a database in memory: where steps may write several rows, and where a step is one row. */
export function bothEngines(entities: readonly EntityClass[], clock: () => number = Date.now) {
  return {
    steps: async () => {
      const db = await openMemory({ entities, clock });
      return { db: db as Database, close: () => db.close() };
    },
    'rows alone': async () => {
      const store = await openStepless(clock);
      const { db } = await store.program(...entities);
      return { db, close: async () => store[Symbol.asyncDispose]() };
    },
  };
}
