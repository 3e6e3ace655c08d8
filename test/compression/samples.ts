/** Bytes of many kinds to compress, made from a seed. */

interface Sample {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export function samples(): Sample[] {
  const random = generator(12345);
  const made: Sample[] = [
    { name: 'empty', bytes: new Uint8Array(0) },
    { name: 'a byte', bytes: Uint8Array.of(7) },
    { name: 'three bytes', bytes: Uint8Array.of(1, 2, 3) },
    { name: 'zeros', bytes: new Uint8Array(70_000) },
    { name: 'json', bytes: json(20_000) },
    { name: 'noise', bytes: noise(random, 5000, 256) },
    { name: 'few letters', bytes: noise(random, 30_000, 3) },
  ];
  // Literal runs and matches of every length about which the forms change, at near and far distances.
  for (const literals of [1, 3, 4, 17, 18, 19, 237, 238, 239, 300, 600]) {
    for (const match of [4, 8, 9, 33, 34, 290, 1000]) {
      made.push({
        name: `${literals} literals, match of ${match}`,
        bytes: literalsAndMatch(random, literals, match),
      });
    }
  }
  for (const distance of [2047, 2048, 2049, 16_383, 16_384, 16_385, 49_150, 49_151, 49_152])
    made.push({ name: `match ${distance} back`, bytes: farMatch(random, distance) });
  return made;
}

function json(length: number): Uint8Array {
  let text = '';
  for (let i = 0; text.length < length; i++)
    text += `{"id":${i},"name":"customer ${(i * 7919) % 1000}","city":"Paris","active":${i % 3 === 0}},`;
  return new Uint8Array(Buffer.from(text.slice(0, length)));
}

function noise(random: () => number, length: number, letters: number): Uint8Array {
  return Uint8Array.from({ length }, () => Math.floor(random() * letters));
}

function literalsAndMatch(random: () => number, literals: number, match: number): Uint8Array {
  const head = noise(random, Math.max(literals, match), 256);
  const between = noise(random, literals, 256);
  return new Uint8Array(Buffer.concat([head, between, head.subarray(0, match), between.subarray(0, 2)]));
}

function farMatch(random: () => number, distance: number): Uint8Array {
  const head = noise(random, 100, 256);
  return new Uint8Array(Buffer.concat([head, noise(random, distance - 100, 256), head]));
}

/** A linear congruential generator: the same numbers everywhere. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
