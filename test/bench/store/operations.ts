/** What is measured: the operations of the bench, each a number of steps that every store takes alike. */

import type { BenchStore, Change } from './bench-store.js';
import { WIDE_COLUMNS } from './bench-store.js';
import { shuffled, valueAt, zipf } from './data.js';
import { ABSENT } from './key-kinds.js';
import type { Loaded } from './placements.js';

/** One step, the `at`-th; how many units it did. */
export type Step = (at: number) => number | Promise<number>;

export interface Operation {
  readonly title: string;
  readonly unit: string;
  /** Steps in a round. */
  readonly steps: number;
  readonly step: Readonly<Record<string, Step>>;
}

const READS = ['get', 'awaited', 'many', 'row', 'wide', 'miss', 'miss-column', 'range', 'scan'] as const;
const WRITES = ['batch', 'increment', 'check', 'deletes', 'queue', 'mixed'] as const;
export const SYNCED = ['synced-put', 'synced-100'] as const;
/** Of stores that are opened again, and of stores of three sizes. */
export const WHOLE = ['open-closed', 'open-killed', 'short-lives', 'growth'] as const;
export const OPERATIONS = [...READS, ...WRITES, ...SYNCED, ...WHOLE] as const;
export type OperationName = (typeof OPERATIONS)[number];

const RANGE = 50;
const BATCH = 100;
const SAMPLES = 50_000;

/** The operation on loaded stores; undefined when the placement has no rows for it. */
export function operationOf(name: OperationName, loaded: Loaded): Operation | undefined {
  const make = MAKERS[name];
  return make?.(loaded);
}

const MAKERS: Readonly<Partial<Record<OperationName, (loaded: Loaded) => Operation | undefined>>> = {
  get: (loaded) =>
    reading(
      loaded,
      'get of a column',
      present(loaded),
      (store) => store.get && ((key) => found(store.get!(key))),
    ),
  awaited: (loaded) => {
    const keys = present(loaded).slice(0, 10_000);
    return reading(
      loaded,
      'awaited get of a column',
      keys,
      (store) => async (key) => found(await store.getAwaited(key)),
    );
  },
  many: (loaded) => {
    const keys = present(loaded);
    const batches = Array.from({ length: Math.floor(keys.length / BATCH) }, (_, at) =>
      keys.slice(at * BATCH, (at + 1) * BATCH),
    );
    const reads = async (values: Promise<(Uint8Array | undefined)[]>): Promise<number> => {
      for (const value of await values) found(value);
      return BATCH;
    };
    const operation = eachOf(loaded, `getMany of ${BATCH}`, 'reads/s', batches.length, (store) => {
      const many = store.many?.bind(store);
      return many && ((at) => reads(many(batches[at]!)));
    });
    const own = loaded.stores.find(({ name }) => name === 'rowan');
    if (own === undefined) return operation;
    const step: Record<string, Step> = {
      ...operation.step,
      'gets awaited': async (at) => {
        for (const key of batches[at]!) found(await own.getAwaited(key));
        return BATCH;
      },
      'gets at once': (at) => reads(Promise.all(batches[at]!.map((key) => own.getAwaited(key)))),
    };
    return { ...operation, step };
  },
  row: (loaded) =>
    reading(
      loaded,
      'get of a row of one column',
      present(loaded),
      (store) => store.row && ((key) => found(store.row!(key))),
    ),
  wide: (loaded) => {
    if (loaded.wideRows === 0) return undefined;
    const indexes = shuffled(loaded.wideRows, 6).subarray(0, 10_000);
    return reading(
      loaded,
      'get of a row of ten columns',
      keysOf(loaded, indexes),
      (store) => store.wide && ((key) => wide(store.wide!(key))),
    );
  },
  miss: (loaded) =>
    reading(
      loaded,
      'miss, whole row',
      absent(loaded),
      (store) => store.row && ((key) => missed(store.row!(key))),
    ),
  'miss-column': (loaded) =>
    reading(
      loaded,
      'miss, one column',
      absent(loaded),
      (store) => store.get && ((key) => missed(store.get!(key))),
    ),
  range: (loaded) => {
    const keys = present(loaded).slice(0, 4000);
    return reading(loaded, `range of ${RANGE} rows`, keys, (store) => (key) => store.range(key, RANGE));
  },
  scan: (loaded) => {
    const expected = { count: -1 };
    const operation = reading(loaded, 'full scan', [Buffer.alloc(0)], (store) => async () => {
      const count = await store.range(Buffer.of(0), Number.POSITIVE_INFINITY);
      if (expected.count < 0) expected.count = count;
      if (count !== expected.count)
        throw new Error(`${store.name} has ${count} rows instead of ${expected.count}.`);
      return count;
    });
    return { ...operation, unit: 'rows/s' };
  },
  batch: (loaded) => {
    const { keyOf } = loaded;
    const batches = Array.from({ length: 200 }, (_, at): Change[] =>
      Array.from({ length: BATCH }, (_, i) => {
        const index = loaded.present[(at * 7919 + i * 104_729) % loaded.present.length]!;
        return { key: keyOf(index), value: valueAt(index + at) };
      }),
    );
    return eachOf(loaded, `batches of ${BATCH} puts, os`, 'rows/s', batches.length, (store) => async (at) => {
      await store.write(batches[at]!);
      return BATCH;
    });
  },
  increment: (loaded) => {
    const keys = present(loaded).slice(0, 1000);
    return eachOf(
      loaded,
      'increment, os',
      'ops/s',
      5000,
      (store) =>
        store.increment &&
        (async (at) => {
          await store.increment!(keys[at % keys.length]!);
          return 1;
        }),
    );
  },
  check: (loaded) => {
    const keys = present(loaded).slice(0, 5000);
    const values = [valueAt(1), valueAt(2)];
    return eachOf(loaded, 'checkAndMutate, os', 'ops/s', keys.length, (store) => {
      if (!store.checkAndPut) return undefined;
      const checkAndPut = store.checkAndPut.bind(store);
      const current: (Buffer | undefined)[] = [];
      return async (at) => {
        const key = keys[at]!;
        // Read in the round that warms up.
        const expected = current[at] ?? Buffer.from((await store.getAwaited(key))!);
        const value = values[Number(values[0]!.equals(expected))]!;
        if (!(await checkAndPut(key, expected, value)))
          throw new Error(`${store.name} found another value than it has.`);
        current[at] = value;
        return 1;
      };
    });
  },
  deletes: (loaded) => {
    const keys = keysOf(loaded, loaded.present.subarray(0, 5000));
    return eachOf(
      loaded,
      'delete 50, put 50, range of 10 over them',
      'steps/s',
      100,
      (store) => async (at) => {
        const changes: Change[] = [];
        for (let i = 0; i < 100; i++)
          changes.push({ key: keys[(at * 50 + i) % keys.length]!, value: i < 50 ? undefined : valueAt(i) });
        await store.write(changes);
        await store.range(keys[(at * 50) % keys.length]!, 10);
        return 1;
      },
    );
  },
  queue: (loaded) =>
    eachOf(loaded, 'queue: put a task, find the first, delete it, os', 'tasks/s', 5000, (store) => {
      const taskOf = (at: number): Buffer => Buffer.from(`queue:${String(at).padStart(10, '0')}`);
      let first = 0;
      let last = 0;
      return async () => {
        while (last < first + 100) await store.put(taskOf(last), valueAt(last++));
        if ((await store.range(taskOf(0), 1)) !== 1)
          throw new Error(`${store.name} lost the tasks of its queue.`);
        await store.write([{ key: taskOf(first++), value: undefined }]);
        return 1;
      };
    }),
  mixed: (loaded) => {
    const chosen = zipf(loaded.present.length, 20_000, 8);
    const keys = keysOf(
      loaded,
      chosen.map((i) => loaded.present[i]!),
    );
    return eachOf(loaded, '95 gets and 5 puts of 100, zipf, os', 'ops/s', keys.length, (store) => {
      if (!store.get) return undefined;
      const get = store.get.bind(store);
      return (at) => {
        if (at % 20 === 19) return store.put(keys[at]!, valueAt(at)).then(() => 1);
        get(keys[at]!);
        return 1;
      };
    });
  },
};

/** `count` puts, `inFlight` of them at a time, each acknowledged by the disk. */
export async function syncedPuts(
  store: BenchStore,
  keys: readonly Buffer[],
  count: number,
  inFlight: number,
): Promise<number> {
  let started = 0;
  const lane = async (): Promise<void> => {
    while (started < count) {
      const at = started++;
      await store.put(keys[at % keys.length]!, valueAt(at));
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return count;
}

type Read = (key: Buffer) => number | Promise<number>;

function reading(
  loaded: Loaded,
  title: string,
  keys: readonly Buffer[],
  readOf: (store: BenchStore) => Read | undefined,
): Operation {
  return eachOf(loaded, title, 'reads/s', keys.length, (store) => {
    const read = readOf(store);
    return read && ((at) => read(keys[at]!));
  });
}

function eachOf(
  loaded: Loaded,
  title: string,
  unit: string,
  steps: number,
  stepOf: (store: BenchStore) => Step | undefined,
): Operation {
  const step: Record<string, Step> = {};
  for (const store of loaded.stores) {
    const own = stepOf(store);
    if (own) step[store.name] = own;
  }
  return { title, unit, steps, step };
}

function present(loaded: Loaded): Buffer[] {
  const order = shuffled(loaded.present.length, 5).subarray(0, SAMPLES);
  return keysOf(
    loaded,
    order.map((i) => loaded.present[i]!),
  );
}

function absent(loaded: Loaded): Buffer[] {
  const order = shuffled(loaded.present.length, 9).subarray(0, SAMPLES);
  return Array.from(order, (i) => loaded.keyOf(loaded.present[i]! + ABSENT));
}

function keysOf({ keyOf }: Loaded, indexes: Uint32Array): Buffer[] {
  return Array.from(indexes, (index) => keyOf(index));
}

function found(value: Uint8Array | undefined): number {
  if (value?.length !== 100) throw new Error(`A read gave ${value?.length} bytes instead of 100.`);
  return 1;
}

function missed(value: Uint8Array | undefined): number {
  if (value !== undefined) throw new Error('A read found what is not there.');
  return 1;
}

function wide(columns: number): number {
  if (columns !== WIDE_COLUMNS) throw new Error(`A row has ${columns} columns instead of ${WIDE_COLUMNS}.`);
  return 1;
}
