import type { SumKind, ValueCodec } from './types.js';

/** Which codecs have values that can be summed exactly, and in which unit. */

type AnyCodec = Pick<ValueCodec<unknown>, 'name'> & Partial<ValueCodec<unknown>>;

/** Zero as the codec decodes it. Undefined when its values cannot be summed. */
export function zeroOf(codec: AnyCodec): number | bigint | string | undefined {
  for (const zero of codec.name.includes('decimal') ? ['0'] : [0, 0n]) {
    const back = throughCodec(codec, zero);
    if (typeof back === typeof zero) return back as typeof zero;
  }
  return undefined;
}

/** Undefined when the codec's values cannot be summed, or have no common unit: decimals with individual scales. */
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

/** The value after encoding and decoding. Undefined when the codec refuses it. */
function throughCodec(codec: AnyCodec, value: unknown): unknown {
  try {
    return codec.decode?.(codec.encode!(value));
  } catch {
    return undefined;
  }
}
