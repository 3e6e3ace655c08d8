/** A key layout whose users see texts where the rows hold ids of dictionaries. */

import { KeyError } from '../../errors.js';
import { describeValue } from '../codecs/base.js';
import { text } from '../codecs/index.js';
import type {
  KeyCodec,
  KeyConditions,
  KeyLayout,
  KeyPart,
  KeyPlan,
  KeySubstitution,
  PartCondition,
  SplitOptions,
} from '../types.js';
import type { KeyDictionary } from './dictionary.js';

type Values = Readonly<Record<string, unknown>>;

/** Stands for a text that has no id: no row has it. Its place in a key is the id 0, which is never given. */
const WITHOUT_ID = Symbol('a text without an id');

/**
 * Wraps a layout with `substitute` parts. Encoding, decoding and planning look ids and texts up in what the
 * dictionaries have met, so they need no promise; what they will need is loaded before: `giveIds` for writes, `known`
 * and `knownConditions` for reads, `loadTexts` for the rows read. Without that they throw a KeyError.
 */
export class DictionaryLayout implements KeyLayout {
  readonly parts: readonly KeyPart[];
  readonly signature: string;
  readonly recordType: number | undefined;
  readonly deterministic: boolean;
  readonly substitutions: readonly KeySubstitution[];

  constructor(
    private readonly inner: KeyLayout,
    private readonly dictionary: (name: string) => KeyDictionary,
  ) {
    const substituted = new Set(inner.substitutions.map(({ part }) => part));
    this.parts = inner.parts.map((part) =>
      substituted.has(part.name) ? Object.freeze({ ...part, codec: text as KeyCodec<unknown> }) : part,
    );
    this.signature = inner.signature;
    this.recordType = inner.recordType;
    this.deterministic = inner.deterministic;
    this.substitutions = inner.substitutions;
  }

  /**
   * Gives the texts of these values ids, where they have none.
   * @throws KeyError when a value is no text, or a dictionary has given more ids than the key has room for.
   */
  async giveIds(rows: readonly Values[]): Promise<void> {
    for (const substitution of this.substitutions) {
      const texts = rows.map((row) => textOf(substitution, row[substitution.part]));
      await this.idsOf(substitution, texts, true);
    }
  }

  /** The values, copied where a text has no id: their key is then one that no row has. @throws KeyError as `giveIds`. */
  async known<V extends Values>(rows: readonly V[]): Promise<V[]> {
    let resolved = [...rows];
    for (const substitution of this.substitutions) {
      const { part } = substitution;
      const texts = rows.map((row) => textOf(substitution, row[part]));
      const ids = await this.idsOf(substitution, texts, false);
      resolved = resolved.map((row, i) => (ids[i] === undefined ? withPart(row, part, WITHOUT_ID) : row));
    }
    return resolved;
  }

  /** Conditions for `plan`: a text that has no id matches nothing. @throws KeyError on a range of texts. */
  async knownConditions(conditions: KeyConditions): Promise<KeyConditions> {
    const resolved: Record<string, PartCondition> = { ...conditions };
    for (const substitution of this.substitutions) {
      const condition = conditions[substitution.part];
      if (condition === undefined) continue;
      const texts = textsOf(substitution, condition);
      const ids = await this.idsOf(substitution, texts, false);
      const found = texts.filter((_, i) => ids[i] !== undefined);
      const single = condition.kind === 'eq' && found.length === 1;
      resolved[substitution.part] = single ? condition : { kind: 'in', values: found };
    }
    return resolved;
  }

  /** Loads the texts of these rows, in one request to each dictionary. @throws KeyError on an id that was never given. */
  async loadTexts(rows: readonly Uint8Array[]): Promise<void> {
    const decoded = rows.map((row) => this.inner.decode(row));
    for (const { part, dictionary } of this.substitutions) {
      await this.dictionary(dictionary).values(decoded.map((values) => values[part] as number));
    }
  }

  private async idsOf(
    { part, dictionary, bytes }: KeySubstitution,
    texts: readonly string[],
    create: boolean,
  ): Promise<(number | undefined)[]> {
    const ids = await this.dictionary(dictionary).ids(texts, create);
    for (const id of ids) {
      if (id !== undefined && id >= 256 ** bytes) {
        throw new KeyError(
          `Key part "${part}": the dictionary "${dictionary}" has given ${id} ids, more than ${bytes} bytes hold. Declare substitute() with more bytes and write the rows anew.`,
          { details: { property: part, dictionary } },
        );
      }
    }
    return ids;
  }

  encode(values: Values): Uint8Array {
    let source = values;
    for (const substitution of this.substitutions) {
      const { part } = substitution;
      source = withPart(source, part, this.idOf(substitution, values[part]));
    }
    return this.inner.encode(source);
  }

  private idOf(substitution: KeySubstitution, value: unknown): number {
    if (value === WITHOUT_ID) return 0;
    const text = textOf(substitution, value);
    const id = this.dictionary(substitution.dictionary).knownId(text);
    if (id !== undefined) return id;
    throw notMet(substitution, `the text ${JSON.stringify(text)}`, 'id');
  }

  decode(row: Uint8Array): Record<string, unknown> {
    const target: Record<string, unknown> = {};
    this.decodeInto(row, target);
    return target;
  }

  decodeInto(row: Uint8Array, target: Record<string, unknown>): void {
    this.inner.decodeInto(row, target);
    for (const substitution of this.substitutions) {
      const id = target[substitution.part] as number;
      const text = this.dictionary(substitution.dictionary).knownText(id);
      if (text === undefined) throw notMet(substitution, `the id ${id}`, 'text');
      target[substitution.part] = text;
    }
  }

  matches(row: Uint8Array): boolean {
    return this.inner.matches(row);
  }

  plan(conditions: KeyConditions): KeyPlan {
    const ids: Record<string, PartCondition> = { ...conditions };
    for (const substitution of this.substitutions) {
      const condition = conditions[substitution.part];
      if (condition === undefined) continue;
      const values = textsOf(substitution, condition).map((text) => this.idOf(substitution, text));
      ids[substitution.part] =
        condition.kind === 'eq' ? { kind: 'eq', value: values[0] } : { kind: 'in', values };
    }
    return this.inner.plan(ids);
  }

  splitPoints(regions: number, options?: SplitOptions): Uint8Array[] {
    return this.inner.splitPoints(regions, options);
  }

  bucketStart(row: Uint8Array): number | undefined {
    return this.inner.bucketStart(row);
  }
}

function notMet({ part, dictionary }: KeySubstitution, what: string, wanted: string): KeyError {
  return new KeyError(
    `Key part "${part}": the ${wanted} of ${what} in the dictionary "${dictionary}" is not known here. Reads and writes load it; before explain() and encode() run the query once, or await database.dictionary('${dictionary}').ids([text], false).`,
    { details: { property: part, dictionary } },
  );
}

function textsOf(substitution: KeySubstitution, condition: PartCondition): string[] {
  if (condition.kind === 'eq') return [textOf(substitution, condition.value)];
  if (condition.kind === 'in') return condition.values.map((value) => textOf(substitution, value));
  const { part, dictionary } = substitution;
  throw new KeyError(
    `Key part "${part}" stands in the row key as an id of the dictionary "${dictionary}", in no order: equality finds it, a range cannot.`,
    { details: { property: part } },
  );
}

function textOf({ part }: KeySubstitution, value: unknown): string {
  if (typeof value === 'string') return value;
  throw new KeyError(
    `Key part "${part}": ${describeValue(value)} is no text, and a dictionary holds only texts.`,
    { details: { property: part } },
  );
}

/** A copy with another value; the rest, accessors of its class included, is read through to the original. */
function withPart<V extends Values>(row: V, part: string, value: unknown): V {
  return Object.create(row, { [part]: { value, enumerable: true } }) as V;
}
