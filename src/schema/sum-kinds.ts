import type { SumKind, ValueCodec } from './types.js';

/** Which codecs keep numbers, and how these are added without losing digits. */

type AnyCodec = Pick<ValueCodec<unknown>, 'name'> & Partial<ValueCodec<unknown>>;

/** Zero as the codec gives it back; undefined when its values cannot be added. */
export function zeroOf(codec: AnyCodec): number | bigint | string | undefined {
  for (const zero of codec.name.includes('decimal') ? ['0'] : [0, 0n]) {
    const back = throughCodec(codec, zero);
    if (typeof back === typeof zero) return back as typeof zero;
  }
  return undefined;
}

/** Undefined when the codec's values cannot be added, or have no unit in common: decimals that each have a scale. */
export function sumKindOf(codec: AnyCodec): SumKind | undefined {
  const zero = zeroOf(codec);
  switch (typeof zero) {
    case 'bigint':
      return { unit: 'one', as: 'bigint' };
    case 'number':
      return throughCodec(codec, 0.5) === 0.5 ? { unit: 'double' } : { unit: 'one', as: 'number' };
    case 'string': {
      const scale = zero.includes('.') ? zero.length - zero.indexOf('.') - 1 : 0;
      const finer = `0.${'0'.repeat(scale)}1`;
      return throughCodec(codec, finer) === undefined ? { unit: 'decimal', scale } : undefined;
    }
    default:
      return undefined;
  }
}

/** A value as it comes back; undefined when it is none of the codec's. */
function throughCodec(codec: AnyCodec, value: unknown): unknown {
  try {
    return codec.decode?.(codec.encode!(value));
  } catch {
    return undefined;
  }
}
