/** What the name of a codec says of the values that it takes. */

export interface CodecKind {
  /** "int32" of `int32`, "fixedString" of `fixedString(8)`. */
  readonly kind: string;
  /** What stands in the parentheses. */
  readonly inner: string;
  /** The number that `inner` begins with; NaN when it does not. */
  readonly count: number;
}

/** Undefined for a name that none of Rowan's codecs has. */
export function codecKind(name: string): CodecKind | undefined {
  const [, kind, inner = ''] = /^(\w+)(?:\((.*)\))?$/s.exec(name) ?? [];
  return kind === undefined ? undefined : { kind, inner, count: Number.parseInt(inner, 10) };
}

/** The names of an enumeration, in the order of their ids. */
export function enumerationNames({ inner }: CodecKind): string[] {
  return [...inner.matchAll(/"(?:[^"\\]|\\.)*"(?==\d)/gs)].map(([name]) => JSON.parse(name) as string);
}

/** "-12.50" of -1250n and 2 digits. */
export function decimalText(unscaled: bigint, scale: number): string {
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const sign = unscaled < 0n ? '-' : '';
  if (scale === 0) return sign + digits;
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
