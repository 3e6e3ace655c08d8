/** HBase's attribute maps: bytes to bytes, in truth text to text. */

type BytesPair = { readonly first: Uint8Array; readonly second: Uint8Array };
type NamePair = { readonly name: string; readonly value: string };

export function attributesOf(values: Readonly<Record<string, string>>): BytesPair[] {
  return Object.entries(values).map(([key, value]) => ({
    first: Buffer.from(key, 'utf8'),
    second: Buffer.from(value, 'utf8'),
  }));
}

export function pairsOf(values: Readonly<Record<string, string>>): NamePair[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

export function configurationOf(pairs: readonly NamePair[]): Readonly<Record<string, string>> {
  return Object.freeze(Object.fromEntries(pairs.map(({ name, value }) => [name, value])));
}

/**
 * Takes known attributes out of a map. One whose value cannot be taken for what is asked stays in it, and the default is
 * answered: so what is written back later is what was read.
 */
export class AttributeReader {
  private readonly left = new Map<string, string>();

  constructor(attributes: readonly BytesPair[]) {
    for (const { first, second } of attributes) {
      this.left.set(Buffer.from(first).toString('utf8'), Buffer.from(second).toString('utf8'));
    }
  }

  integer<D extends number | undefined>(name: string, fallback: D): number | D {
    return this.take(name, fallback, (text) => (/^-?\d+$/.test(text) ? Number(text) : undefined));
  }

  boolean(name: string, fallback: boolean): boolean {
    return this.take(name, fallback, (text) => {
      const lower = text.toLowerCase();
      return lower === 'true' ? true : lower === 'false' ? false : undefined;
    });
  }

  text(name: string): string | undefined {
    return this.take(name, undefined, (text) => text);
  }

  oneOf<V extends string>(name: string, values: readonly V[], fallback: V): V {
    return this.take(name, fallback, (text) => values.find((value) => value === text.toUpperCase()));
  }

  /** Drops an attribute that says what would hold without it. */
  dropDefault(name: string, value: string): void {
    if (this.left.get(name) === value) this.left.delete(name);
  }

  /** Takes out every attribute whose name begins so. */
  withPrefix(prefix: string): Record<string, string> {
    const taken: Record<string, string> = {};
    for (const [name, value] of this.left) {
      if (!name.startsWith(prefix)) continue;
      taken[name] = value;
      this.left.delete(name);
    }
    return taken;
  }

  /** What was not taken. */
  rest(): Readonly<Record<string, string>> {
    return Object.freeze(Object.fromEntries(this.left));
  }

  private take<V, D>(name: string, fallback: D, parse: (text: string) => V | undefined): V | D {
    const text = this.left.get(name);
    if (text === undefined) return fallback;
    const value = parse(text);
    if (value === undefined) return fallback;
    this.left.delete(name);
    return value;
  }
}
