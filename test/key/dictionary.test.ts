import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  compileKeyLayout,
  date,
  dictionaryTableDescriptor,
  type KeyLayout,
  part,
  substitute,
  TableDictionary,
} from '../../src/key/index.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { type CheckAndMutate, type Increment, Result, type Table } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';

let engine: EmbeddedEngine;
let table: Table;

beforeEach(async () => {
  engine = await openEmbedded('/db', { fileSystem: new MemoryFileSystem() });
  await engine.admin.createTable(dictionaryTableDescriptor());
  table = engine.table('rowan_dictionaries');
});
afterEach(() => engine.close());

describe('a dictionary in a table', () => {
  it('gives each text one id, the same for everyone and for good', async () => {
    const hosts = new TableDictionary('hosts', table);
    expect(await hosts.ids(['web1', 'web2', 'web1', ''], true)).toEqual([1, 2, 1, 3]);
    const other = new TableDictionary('hosts', table);
    expect(await other.ids(['web2', 'unknown'], false)).toEqual([2, undefined]);
    expect(await other.ids(['web3', 'web1'], true)).toEqual([4, 1]);
    expect(await new TableDictionary('hosts', table).values([4, 1, 3, 4])).toEqual([
      'web3',
      'web1',
      '',
      'web3',
    ]);
  });

  it('keeps dictionaries apart', async () => {
    expect(await new TableDictionary('a', table).ids(['x'], true)).toEqual([1]);
    expect(await new TableDictionary('ab', table).ids(['y'], true)).toEqual([1]);
    expect(await new TableDictionary('a', table).values([1])).toEqual(['x']);
    await expect(new TableDictionary('a', table).values([2])).rejects.toThrowError(/never assigned the id 2/);
  });

  it('gives one id when many ask at once', async () => {
    const asked = await Promise.all(
      Array.from({ length: 20 }, () => new TableDictionary('hosts', table).ids(['same'], true)),
    );
    const ids = new Set(asked.flat());
    expect(ids.size).toBe(1);
    const [id] = ids;
    expect(await new TableDictionary('hosts', table).values([id!])).toEqual(['same']);
  });

  it('takes the winner of a race, and leaves no text on the id that lost', async () => {
    const slow = new Proxy(table, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        if (name !== 'checkAndMutate') return member.bind(target);
        return async (check: CheckAndMutate) => {
          await new TableDictionary('hosts', target).ids(['x'], true);
          return target.checkAndMutate(check);
        };
      },
    });
    expect(await new TableDictionary('hosts', slow).ids(['x'], true)).toEqual([2]);
    expect(await new TableDictionary('hosts', table).values([2])).toEqual(['x']);
    await expect(new TableDictionary('hosts', table).values([1])).rejects.toThrowError(/never assigned/);
  });

  it('gives an id to nobody whose value was lost with the server that counted it', async () => {
    let lost = 0;
    const forgetful = new Proxy(table, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        if (name !== 'increment') return member.bind(target);
        return async (increment: Increment) => {
          const result = await target.increment(increment);
          return lost++ < 2 ? Result.EMPTY : result;
        };
      },
    });
    expect(await new TableDictionary('hosts', forgetful).ids(['x'], true)).toEqual([3]);
    expect(await new TableDictionary('hosts', table).ids(['x', 'y'], true)).toEqual([3, 4]);
  });

  it('refuses a name that it could not keep apart', () => {
    expect(() => new TableDictionary('', table)).toThrowError(/name of a dictionary/);
    expect(() => new TableDictionary('a\0', table)).toThrowError(/name of a dictionary/);
  });
});

describe('a layout with dictionaries', () => {
  const inner = compileKeyLayout(
    [
      substitute('host', 'hosts', { bytes: 2 }),
      substitute('event', 'events', { bytes: 1 }),
      part('at', date),
    ],
    () => undefined,
  );
  const at = new Date(5);
  let layout: KeyLayout;
  const another = (of = table): KeyLayout => {
    const dictionaries = new Map<string, TableDictionary>();
    return inner.bind((name) => {
      const dictionary = dictionaries.get(name) ?? new TableDictionary(name, of);
      dictionaries.set(name, dictionary);
      return dictionary;
    });
  };
  beforeEach(() => {
    layout = another();
  });

  it('makes log keys of 11 bytes, and gives host and event back', async () => {
    class Log {
      [name: string]: unknown;
      host = 'a-very-long-host-name.example';
      event = 'login';
      get at() {
        return at;
      }
    }
    const log = new Log();
    await layout.dictionaries!.giveIds([log]);
    const row = layout.encode(log);
    expect(log.host).toBe('a-very-long-host-name.example');
    expect(row).toHaveLength(11);
    expect(inner.decode(row)).toEqual({ host: 1, event: 1, at });
    expect(another().decode(row)).toEqual({ host: log.host, event: 'login', at });
    // A table of an engine that answers later.
    const reader = another(new Proxy(table, { has: (_, name) => name !== 'getSync' }));
    expect(() => reader.decode(row)).toThrowError(/the text of the id 1 .* is not loaded/);
    await reader.dictionaries!.loadTexts([row]);
    expect(reader.decode(row)).toEqual({ host: 'a-very-long-host-name.example', event: 'login', at });
    expect(reader.encode(log)).toEqual(row);
  });

  it('refuses to encode and to plan what was not loaded', () => {
    expect(() => layout.encode({ host: 'a', event: 'x', at })).toThrowError(/the id of the text "a"/);
    expect(() => layout.plan({ host: { kind: 'eq', value: 'a' } })).toThrowError(
      /call await database.dictionary/,
    );
  });

  it('makes a row that nobody has of texts that have no id, and gives them none', async () => {
    await layout.dictionaries!.giveIds([{ host: 'a', event: 'x', at }]);
    const rows = [
      { host: 'a', event: 'x', at },
      { host: 'b', event: 'x', at },
      { host: 'a', event: 'y', at },
    ];
    const known = await layout.dictionaries!.known(rows);
    expect(known[0]).toBe(rows[0]);
    expect(known.map((values) => inner.decode(layout.encode(values)))).toEqual([
      { host: 1, event: 1, at },
      { host: 0, event: 1, at },
      { host: 1, event: 0, at },
    ]);
    expect(await new TableDictionary('hosts', table).ids(['b'], false)).toEqual([undefined]);
  });

  it('turns conditions', async () => {
    await layout.dictionaries!.giveIds([{ host: 'a', event: 'x', at }]);
    const conditions = await layout.dictionaries!.knownConditions({
      host: { kind: 'eq', value: 'a' },
      event: { kind: 'in', values: ['x', 'q'] },
    });
    expect(layout.plan(conditions).ranges).toEqual(
      inner.plan({ host: { kind: 'eq', value: 1 }, event: { kind: 'eq', value: 1 } }).ranges,
    );
    const nothing = await layout.dictionaries!.knownConditions({ host: { kind: 'eq', value: 'nobody' } });
    expect(layout.plan(nothing).ranges).toEqual([]);
    await expect(
      layout.dictionaries!.knownConditions({ host: { kind: 'startsWith', value: 'a' } }),
    ).rejects.toThrowError(/Use equality instead of a range/);
    expect(() => inner.plan({ host: { kind: 'range', lower: { value: 1, inclusive: true } } })).toThrowError(
      /in another order/,
    );
  });

  it('says when a dictionary has outgrown the key', async () => {
    const events = Array.from({ length: 256 }, (_, i) => ({ host: 'a', event: `e${i}`, at }));
    await expect(layout.dictionaries!.giveIds(events)).rejects.toThrowError(
      /has assigned 256 ids, more than 1 bytes can hold/,
    );
  });

  it('refuses what is no text', async () => {
    await expect(layout.dictionaries!.giveIds([{ host: 7, event: 'x', at }])).rejects.toThrowError(
      /7 is not a string/,
    );
  });

  it('takes one number for a new text that many write at once', async () => {
    await Promise.all(
      Array.from({ length: 20 }, () => layout.dictionaries!.giveIds([{ host: 'same', event: 'x', at }])),
    );
    await layout.dictionaries!.giveIds([{ host: 'next', event: 'x', at }]);
    expect(inner.decode(layout.encode({ host: 'next', event: 'x', at }))).toMatchObject({ host: 2 });
  });
});
