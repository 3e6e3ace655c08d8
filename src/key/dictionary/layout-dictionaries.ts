import { KeyError } from '../../errors.js';
import type { Step } from '../layout/step.js';
import type { ConditionsAtHand, KeyConditions, KeyDictionaries, PartCondition } from '../types.js';
import { type DictionaryCodec, NO_ID, WITHOUT_ID } from './dictionary.js';

type Values = Readonly<Record<string, unknown>>;

/** Loads the dictionary entries that a layout with `substitute` parts needs before it encodes, plans and decodes. */
export class LayoutDictionaries implements KeyDictionaries {
  constructor(
    private readonly steps: readonly Step[],
    /** By part. */
    private readonly codecs: ReadonlyMap<string, DictionaryCodec>,
  ) {}

  async giveIds(rows: readonly Values[]): Promise<void> {
    for (const [part, codec] of this.codecs) {
      await idsOf(
        codec,
        rows.map((row) => codec.textOf(row[part])),
        true,
      );
    }
  }

  async known<V extends Values>(rows: readonly V[]): Promise<V[]> {
    let resolved = [...rows];
    for (const [part, codec] of this.codecs) {
      const ids = await idsOf(
        codec,
        rows.map((row) => codec.textOf(row[part])),
        false,
      );
      resolved = resolved.map((row, i) => (ids[i] === undefined ? withPart(row, part, WITHOUT_ID) : row));
    }
    return resolved;
  }

  async knownConditions(conditions: KeyConditions): Promise<KeyConditions> {
    const resolved: Record<string, PartCondition> = { ...conditions };
    for (const [part, codec] of this.codecs) {
      const condition = conditions[part];
      if (condition === undefined) continue;
      const texts = textsOf(codec, condition);
      const ids = await idsOf(codec, texts, false);
      resolved[part] = ofTexts(
        condition,
        texts.filter((_, i) => ids[i] !== undefined),
      );
    }
    return resolved;
  }

  conditionsAtHand(conditions: KeyConditions): ConditionsAtHand {
    const resolved: Record<string, PartCondition> = { ...conditions };
    const withoutId: ConditionsAtHand['withoutId'][number][] = [];
    for (const [part, codec] of this.codecs) {
      const condition = conditions[part];
      if (condition === undefined) continue;
      const { dictionary } = codec;
      const found = textsOf(codec, condition).filter((text) => {
        const isKnown = dictionary.knownId(text) !== undefined;
        if (!isKnown) withoutId.push({ part, text, dictionary: dictionary.name });
        return isKnown;
      });
      resolved[part] = ofTexts(condition, found);
    }
    return { conditions: resolved, withoutId };
  }

  async loadTexts(rows: readonly Uint8Array[]): Promise<void> {
    for (const [part, codec] of this.codecs) {
      const ids = rows.map((row) => codec.readId(row, this.placeOf(part, row)));
      // A delete with a timestamp may leave a shadow in the row of a text without an id, which is no entity's.
      const missing = ids.filter((id) => id !== NO_ID && codec.dictionary.knownText(id) === undefined);
      if (missing.length > 0) await codec.dictionary.values(missing);
    }
  }

  private placeOf(part: string, row: Uint8Array): number {
    let at = 0;
    for (const step of this.steps) {
      if (!step.derived && step.names.includes(part)) return at;
      at = step.skip(row, at);
    }
    return at;
  }
}

async function idsOf(
  { part, dictionary, fixedLength: bytes }: DictionaryCodec,
  texts: readonly string[],
  create: boolean,
): Promise<(number | undefined)[]> {
  const ids = await dictionary.ids(texts, create);
  for (const id of ids) {
    if (id !== undefined && id >= 256 ** bytes) {
      throw new KeyError(
        `Key part "${part}": the dictionary "${dictionary.name}" has assigned ${id} ids, more than ${bytes} bytes can hold. Declare substitute() with more bytes and rewrite the rows.`,
        { details: { property: part, dictionary: dictionary.name } },
      );
    }
  }
  return ids;
}

/** The condition on a part, of which these texts have an id. */
function ofTexts(condition: PartCondition, found: readonly string[]): PartCondition {
  return condition.kind === 'eq' && found.length === 1 ? condition : { kind: 'in', values: found };
}

function textsOf(codec: DictionaryCodec, condition: PartCondition): string[] {
  if (condition.kind === 'eq') return [codec.textOf(condition.value)];
  if (condition.kind === 'in') return condition.values.map((value) => codec.textOf(value));
  throw new KeyError(
    `Key part "${codec.part}" is stored in the row key as an id of the dictionary "${codec.dictionary.name}", which has no order. Use equality instead of a range.`,
    { details: { property: codec.part } },
  );
}

/** A copy with one value replaced. Other properties, including accessors of its class, are read from the original. */
function withPart<V extends Values>(row: V, part: string, value: unknown): V {
  return Object.create(row, { [part]: { value, enumerable: true } }) as V;
}
