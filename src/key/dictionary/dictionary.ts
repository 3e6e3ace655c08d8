import { KeyError } from '../../errors.js';
import { describe, isList } from '../../table/checks.js';
import { takeNumbers } from '../../table/counter.js';
import {
  CheckAndMutate,
  Delete,
  Get,
  ownTableDescriptor,
  Put,
  type SyncTable,
  type Table,
  type TableDescriptor,
} from '../../table/index.js';
import { BaseCodec, badValue, getInteger, type KeyWriter, putInteger } from '../codecs/base.js';
import { text, uint64 } from '../codecs/index.js';

// — Numeric ids that stand for long texts (numeric substitution in HBase's schema case studies, UIDs in OpenTSDB).

/** Assigns each text an id of its own, from 1 on. Ids never change and are never assigned twice. */
export interface KeyDictionary {
  readonly name: string;
  /**
   * The ids of texts, in the same order; undefined for a text without one. With `create`, such a text is assigned one.
   */
  ids(values: readonly string[], create: boolean): Promise<(number | undefined)[]>;
  /** The texts of ids, in the same order. @throws KeyError on an id that was never assigned. */
  values(ids: readonly number[]): Promise<string[]>;
  /**
   * The id of a text, without waiting: found if an earlier call has loaded it, or if the table answers synchronously.
   */
  knownId(value: string): number | undefined;
  /** The text of an id, without waiting, like `knownId`; undefined otherwise. */
  knownText(id: number): string | undefined;
}

const FAMILY = 'd';
const ID = Buffer.from('i', 'latin1');
const TEXT = Buffer.from('t', 'latin1');
const COUNTER = Buffer.from('c', 'latin1');

/** The descriptor of the table that holds dictionaries. Create the table once. */
export function dictionaryTableDescriptor(): TableDescriptor {
  return ownTableDescriptor('rowan_dictionaries', FAMILY);
}

/**
 * A dictionary in a table. Row keys are the dictionary's name, 00, then `c` for the counter, `i` and an id (8 bytes)
 * for the id's text, or `t` and a text for its id.
 *
 * To add a text, the dictionary increments the counter, writes the id's row, then writes the text's row if it is still
 * absent. If another process wrote the text first, the new id is dropped and the other is used. A crash in between
 * leaves an id that nothing uses.
 */
export class TableDictionary implements KeyDictionary {
  private readonly idOf = new Map<string, number>();
  private readonly textOf = new Map<number, string>();
  /** Texts that are being assigned an id. Concurrent callers wait for the same promise. */
  private readonly assigning = new Map<string, Promise<number>>();
  private readonly prefix: Buffer;
  /** The table, if it answers synchronously. Keys are decoded inside steps, where nothing can be awaited. */
  private readonly sync: SyncTable | undefined;

  constructor(
    readonly name: string,
    private readonly table: Table,
  ) {
    if (typeof name !== 'string' || name === '' || name.includes('\0')) {
      throw new KeyError(
        `${describe(name)} is not a valid name of a dictionary: it must be a non-empty string without NUL.`,
      );
    }
    this.prefix = Buffer.concat([text.encode(name), Buffer.of(0)]);
    this.sync = 'getSync' in table ? (table as SyncTable) : undefined;
  }

  async ids(values: readonly string[], create: boolean): Promise<(number | undefined)[]> {
    if (!isList(values) || values.some((value) => typeof value !== 'string'))
      throw new KeyError(
        `ids of the dictionary "${this.name}" takes a list of texts, not ${describe(values)}.`,
      );
    const missing = [...new Set(values)].filter((value) => !this.idOf.has(value));
    if (missing.length > 0) {
      const results = await this.table.getAll(missing.map((value) => this.get('t', text.encode(value), ID)));
      for (const [i, value] of missing.entries()) {
        const found = results[i]?.getValue(FAMILY, ID);
        if (found !== undefined) this.remember(value, Number(uint64.decode(found)));
        else if (create) this.remember(value, await this.assignOnce(value));
      }
    }
    return values.map((value) => this.idOf.get(value));
  }

  async values(ids: readonly number[]): Promise<string[]> {
    if (!isList(ids) || !ids.every(Number.isSafeInteger))
      throw new KeyError(
        `values of the dictionary "${this.name}" takes a list of ids, not ${describe(ids)}.`,
      );
    const missing = [...new Set(ids)].filter((id) => !this.textOf.has(id));
    if (missing.length > 0) {
      const results = await this.table.getAll(
        missing.map((id) => this.get('i', uint64.encode(BigInt(id)), TEXT)),
      );
      for (const [i, id] of missing.entries()) {
        const found = results[i]?.getValue(FAMILY, TEXT);
        if (found !== undefined) this.remember(text.decode(found), id);
      }
    }
    return ids.map((id) => {
      const text = this.textOf.get(id);
      if (text !== undefined) return text;
      throw new KeyError(
        `The dictionary "${this.name}" never assigned the id ${id}. The row was written with another dictionary, or its table was lost.`,
        { details: { dictionary: this.name, id } },
      );
    });
  }

  knownId(value: string): number | undefined {
    const known = this.idOf.get(value);
    if (known !== undefined || this.sync === undefined) return known;
    const found = this.sync.getSync(this.get('t', text.encode(value), ID)).getValue(FAMILY, ID);
    if (found !== undefined) this.remember(value, Number(uint64.decode(found)));
    return this.idOf.get(value);
  }

  knownText(id: number): string | undefined {
    const known = this.textOf.get(id);
    if (known !== undefined || this.sync === undefined) return known;
    const found = this.sync.getSync(this.get('i', uint64.encode(BigInt(id)), TEXT)).getValue(FAMILY, TEXT);
    if (found !== undefined) this.textOf.set(id, text.decode(found));
    return this.textOf.get(id);
  }

  private remember(value: string, id: number): void {
    this.idOf.set(value, id);
    this.textOf.set(id, value);
  }

  private assignOnce(value: string): Promise<number> {
    const known = this.idOf.get(value);
    if (known !== undefined) return Promise.resolve(known);
    let running = this.assigning.get(value);
    if (running === undefined) {
      running = this.assign(value).finally(() => this.assigning.delete(value));
      this.assigning.set(value, running);
    }
    return running;
  }

  private async assign(value: string): Promise<number> {
    const counter = { row: this.row('c'), family: FAMILY, qualifier: COUNTER };
    const id = await takeNumbers(this.table, counter, 1);
    if (id < 1n || id > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw new KeyError(`The counter of the dictionary "${this.name}" is ${id}, which is not a valid id.`);
    }
    const idRow = this.row('i', uint64.encode(id));
    await this.table.put(new Put(idRow).addColumn(FAMILY, TEXT, text.encode(value)));
    const put = new Put(this.row('t', text.encode(value))).addColumn(FAMILY, ID, uint64.encode(id));
    const { success } = await this.table.checkAndMutate(CheckAndMutate.ifNotExists(FAMILY, ID, put));
    if (success) return Number(id);
    await this.table.delete(new Delete(idRow));
    const winner = await this.table.get(this.get('t', text.encode(value), ID));
    const bytes = winner.getValue(FAMILY, ID);
    if (bytes === undefined)
      throw new KeyError(
        `The dictionary "${this.name}" has no id for a text that another process just added. Try again; if it persists, the table has lost rows.`,
      );
    return Number(uint64.decode(bytes));
  }

  private get(kind: string, rest: Uint8Array, column: Uint8Array): Get {
    return new Get(this.row(kind, rest)).addColumn(FAMILY, column);
  }

  private row(kind: string, rest: Uint8Array = new Uint8Array(0)): Uint8Array {
    return Buffer.concat([this.prefix, Buffer.from(kind, 'latin1'), rest]);
  }
}

/** A row holds an id whose text is not loaded. Readers catch this, load the text and decode again. */
export class MissingTextError extends KeyError {
  constructor(
    readonly dictionary: KeyDictionary,
    readonly id: number,
    part: string,
  ) {
    super(missingFromDictionary(part, dictionary.name, `the id ${id}`, 'text'), {
      details: { property: part, dictionary: dictionary.name },
    });
  }
}

function missingFromDictionary(part: string, dictionary: string, what: string, wanted: string): string {
  return `Key part "${part}": the ${wanted} of ${what} in the dictionary "${dictionary}" is not loaded. Reads and writes load it by themselves. Before encode() and plan(), call await database.dictionary('${dictionary}').ids([text], false).`;
}

// — A text stored in keys as the id that a dictionary assigned.

/** The id that is never assigned. */
export const NO_ID = 0;

/** Stands for a text without an id, which no row has. It is encoded as {@link NO_ID}. */
export const WITHOUT_ID: unique symbol = Symbol('a text without an id');

/**
 * Ids of `bytes` bytes, big-endian, without a meaningful order. They are resolved by the loaded entries of the
 * dictionary.
 */
export class DictionaryCodec extends BaseCodec<string> {
  readonly name: string;
  override readonly ordered = false;
  override readonly hasRanges = false;

  constructor(
    readonly part: string,
    readonly fixedLength: number,
    readonly dictionary: KeyDictionary,
  ) {
    super();
    this.name = `id${fixedLength}(${dictionary.name})`;
  }

  write(value: string, out: KeyWriter): void {
    const size = this.fixedLength;
    const id = (value as unknown) === WITHOUT_ID ? NO_ID : this.idOf(value);
    out.ensure(size);
    putInteger(out.buffer, out.length, size, id);
    out.length += size;
  }

  private idOf(text: unknown): number {
    const { part, dictionary } = this;
    if (typeof text !== 'string') throw badValue('a dictionary', text, 'a string');
    const id = dictionary.knownId(text);
    if (id !== undefined) return id;
    throw new KeyError(
      missingFromDictionary(part, dictionary.name, `the text ${JSON.stringify(text)}`, 'id'),
      {
        details: { property: part, dictionary: dictionary.name },
      },
    );
  }

  read(bytes: Uint8Array, start: number): string {
    const id = this.readId(bytes, start);
    const text = this.dictionary.knownText(id);
    if (text === undefined) throw new MissingTextError(this.dictionary, id, this.part);
    return text;
  }

  readId(bytes: Uint8Array, start: number): number {
    return getInteger(bytes, start, this.fixedLength);
  }

  /** The value as a string. @throws KeyError on any other type. */
  textOf(value: unknown): string {
    if (typeof value === 'string') return value;
    throw new KeyError(
      `Key part "${this.part}": ${describe(value)} is not a string. A dictionary holds only strings.`,
      { details: { property: this.part } },
    );
  }
}
