/** The bench's data: the same keys and values for every store, made anew from a seed. */

/** A small, fast generator of pseudo-random 32-bit numbers (mulberry32). */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}

/** Key `index`: 16 digits. */
export function keyOf(index: number): Buffer {
  return Buffer.from(String(index).padStart(16, '0'), 'latin1');
}

/** `count` values of 100 bytes, half of which compress. */
export function makeValues(count: number): Buffer[] {
  const next = generator(7);
  return Array.from({ length: count }, () => {
    const value = Buffer.alloc(100, 'the quick brown fox jumps over the lazy dog. ');
    for (let i = 0; i < 48; i += 4) value.writeUInt32LE(next(), i);
    return value;
  });
}

/** 0..count-1 in an order of its own for each seed. */
export function shuffled(count: number, seed: number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  const next = generator(seed);
  for (let i = count - 1; i > 0; i--) {
    const j = next() % (i + 1);
    const kept = order[i]!;
    order[i] = order[j]!;
    order[j] = kept;
  }
  return order;
}

const VALUES = 1024;
let shared: readonly Buffer[] | undefined;

/** One of some values of 100 bytes, which repeat: what stores do with values does not depend on their number. */
export function valueAt(index: number): Buffer {
  shared ??= makeValues(VALUES);
  return shared[index % VALUES]!;
}

/** Indexes below `count` in the frequencies of a zipf distribution with exponent 0.99, the frequent ones spread out. */
export function zipf(count: number, samples: number, seed: number): Uint32Array {
  const places = shuffled(count, seed);
  return zipfRanks(count, samples, seed + 1).map((rank) => places[rank]!);
}

/** Ranks below `count` of a zipf distribution with exponent 0.99: 0 is the most frequent. */
export function zipfRanks(count: number, samples: number, seed: number): Uint32Array {
  const sums = new Float64Array(count);
  let sum = 0;
  for (let i = 0; i < count; i++) {
    sum += 1 / (i + 1) ** 0.99;
    sums[i] = sum;
  }
  const next = generator(seed);
  return Uint32Array.from({ length: samples }, () => {
    const wanted = (next() / 2 ** 32) * sum;
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (sums[middle]! < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  });
}
