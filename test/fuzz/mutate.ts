/** A copy of `bytes` with some random damage: changed, removed, doubled, zeroed or moved bytes. */
export function mutate(bytes: Uint8Array, random: () => number): Uint8Array {
  let out: Uint8Array = bytes.slice();
  const changes = 1 + Math.floor(random() * 3);
  for (let i = 0; i < changes; i++) {
    const at = Math.floor(random() * out.length);
    const length = Math.floor(random() * Math.min(600, out.length - at));
    switch (Math.floor(random() * 7)) {
      case 0:
        out[at] = Math.floor(random() * 256);
        break;
      case 1:
        out[at] = out[at]! ^ (1 << Math.floor(random() * 8));
        break;
      case 2:
        out = out.slice(0, at);
        break;
      case 3:
        out.fill(0, at, at + length);
        break;
      case 4:
        out.copyWithin(Math.floor(random() * out.length), at, at + length);
        break;
      case 5:
        out = concat(out.subarray(0, at), out.subarray(at + length));
        break;
      default:
        out = concat(out.subarray(0, at), out.subarray(at, at + length), out.subarray(at));
    }
    if (out.length === 0) break;
  }
  return out;
}

function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
