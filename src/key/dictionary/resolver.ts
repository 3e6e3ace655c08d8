/** The step between the values of entities and a layout with `substitute` parts: texts to ids and back. */

import { KeyError } from '../../errors.js';
import { describeValue } from '../codecs/base.js';
import type { KeyConditions, KeyLayout, KeySubstitution, PartCondition } from '../types.js';
import type { KeyDictionary } from './dictionary.js';

type Values = Readonly<Record<string, unknown>>;

/** Puts ids in the place of texts before `encode` and `plan`, and texts in the place of ids after `decode`. */
export class DictionaryResolver {
  constructor(private readonly dictionary: (name: string) => KeyDictionary) {}

  /**
   * Copies of the values with ids for texts. With `create` texts without an id get one (for writes); without, the
   * entry is undefined when a text has no id: no row can have that key.
   * @throws KeyError when a value is no text, or the dictionary has more ids than the key has room for.
   */
  async toIds<V extends Values>(
    layout: KeyLayout,
    rows: readonly V[],
    create: boolean,
  ): Promise<(V | undefined)[]> {
    let resolved: (V | undefined)[] = [...rows];
    for (const substitution of layout.substitutions) {
      const texts = resolved.map((row) =>
        row === undefined ? '' : textOf(substitution, row[substitution.part]),
      );
      const present = texts.filter((_, i) => resolved[i] !== undefined);
      const ids = (await this.idsOf(substitution, present, create)).values();
      resolved = resolved.map((row) => {
        if (row === undefined) return undefined;
        const id = ids.next().value;
        return id === undefined ? undefined : withPart(row, substitution.part, id);
      });
    }
    return resolved;
  }

  /** The conditions with ids for texts: a text that has no id matches nothing. @throws KeyError on a range. */
  async toIdConditions(layout: KeyLayout, conditions: KeyConditions): Promise<KeyConditions> {
    const resolved: Record<string, PartCondition> = { ...conditions };
    for (const substitution of layout.substitutions) {
      const condition = conditions[substitution.part];
      if (condition === undefined) continue;
      if (condition.kind !== 'eq' && condition.kind !== 'in') {
        throw new KeyError(
          `Key part "${substitution.part}" stands in the row key as an id of the dictionary "${substitution.dictionary}", in no order: equality finds it, a range cannot.`,
          { details: { property: substitution.part } },
        );
      }
      const texts = (condition.kind === 'eq' ? [condition.value] : condition.values).map((value) =>
        textOf(substitution, value),
      );
      const ids = (await this.idsOf(substitution, texts, false)).filter((id) => id !== undefined);
      const single = condition.kind === 'eq' && ids.length === 1;
      resolved[substitution.part] = single ? { kind: 'eq', value: ids[0] } : { kind: 'in', values: ids };
    }
    return resolved;
  }

  /** Sets the texts on objects that hold the ids, all in one request to each dictionary. @throws KeyError. */
  async toTexts(layout: KeyLayout, rows: readonly Record<string, unknown>[]): Promise<void> {
    for (const { part, dictionary } of layout.substitutions) {
      const texts = await this.dictionary(dictionary).values(rows.map((row) => row[part] as number));
      for (const [i, row] of rows.entries()) row[part] = texts[i];
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
}

function textOf({ part }: KeySubstitution, value: unknown): string {
  if (typeof value === 'string') return value;
  throw new KeyError(
    `Key part "${part}": ${describeValue(value)} is no text, and a dictionary holds only texts.`,
    {
      details: { property: part },
    },
  );
}

/** A copy with another value; the rest, accessors of its class included, is read through to the original. */
function withPart<V extends Values>(row: V, part: string, id: number): V {
  return Object.create(row, { [part]: { value: id, enumerable: true } }) as V;
}
