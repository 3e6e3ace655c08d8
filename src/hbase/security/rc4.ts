/**
 * The stream cipher that `auth-conf` of DIGEST-MD5 uses (RFC 2831, 2.4). OpenSSL 3 has put it away with what is too weak
 * for anything new; it is here because HBase's servers speak no better one in this mechanism.
 */
export class Rc4 {
  private readonly state = Uint8Array.from({ length: 256 }, (_, i) => i);
  private i = 0;
  private j = 0;

  constructor(key: Uint8Array) {
    const { state } = this;
    for (let i = 0, j = 0; i < 256; i++) {
      j = (j + state[i]! + key[i % key.length]!) & 255;
      const kept = state[i]!;
      state[i] = state[j]!;
      state[j] = kept;
    }
  }

  /** Enciphers or deciphers the next bytes of the stream. */
  apply(data: Uint8Array): Buffer {
    const { state } = this;
    const out = Buffer.allocUnsafe(data.length);
    let { i, j } = this;
    for (let at = 0; at < data.length; at++) {
      i = (i + 1) & 255;
      const a = state[i]!;
      j = (j + a) & 255;
      const b = state[j]!;
      state[i] = b;
      state[j] = a;
      out[at] = data[at]! ^ state[(a + b) & 255]!;
    }
    this.i = i;
    this.j = j;
    return out;
  }
}
