import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import {
  encodeToken,
  parseToken,
  secretToken,
  tokenAuthenticator,
} from '../../src/hbase/security/delegation-token.js';
import { DigestLayer, DigestSession, Rc4 } from '../../src/hbase/security/digest-md5.js';
import { WrappedStream } from '../../src/hbase/security/sasl.js';
import { scaled } from '../proof/scale.js';
import { FakePeer } from './fake-peer.js';

const md5 = (text: string | Buffer): Buffer => createHash('md5').update(text).digest();

/** RFC 2831, section 4: the example of IMAP. */
const CHRIS = { username: 'chris', password: 'secret', uri: 'imap/elwood.innosoft.com' };
const CHALLENGE =
  'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8';

describe('DIGEST-MD5', () => {
  it('answers the example of RFC 2831 as it stands there, and believes only its server', async () => {
    const session = new DigestSession(CHRIS, ['authentication'], 'there', 'OA6MHXh6VqTrRk');
    const answer = Buffer.from((await session.respond(Buffer.from(CHALLENGE)))!).toString();
    expect(answer).toContain('response=d388dad90d4bbd760a152321f2143af7');
    expect(answer).toContain('qop=auth');
    await session.respond(Buffer.from('rspauth=ea40f60335c427b5527b84dbabcdfffd'));
    expect(session).toMatchObject({ isComplete: true, layer: undefined });
    const other = new DigestSession(CHRIS, ['authentication'], 'there', 'OA6MHXh6VqTrRk');
    await other.respond(Buffer.from(CHALLENGE));
    await expect(other.respond(Buffer.from(`rspauth=${'0'.repeat(32)}`))).rejects.toMatchObject({
      code: 'ERR_SECURITY',
    });
    expect(other.isComplete).toBe(false);
  });

  it('takes the protection that is wanted of those that are offered, and none that is not', async () => {
    const offer = (qop: string, cipher = '3des,rc4'): Buffer =>
      Buffer.from(`${CHALLENGE.replace('"auth"', `"${qop}"`)},cipher="${cipher}"`);
    const chosen = async (wanted: 'integrity' | 'privacy', challenge: Buffer): Promise<string> => {
      const session = new DigestSession(CHRIS, [wanted], 'there');
      return String(Buffer.from((await session.respond(challenge))!));
    };
    expect(await chosen('integrity', offer('auth,auth-int'))).toContain('qop=auth-int');
    expect(await chosen('privacy', offer('auth, auth-conf'))).toContain('qop=auth-conf,cipher=rc4');
    for (const [wanted, challenge] of [
      ['integrity', offer('auth')],
      ['privacy', offer('auth,auth-int')],
      ['privacy', offer('auth-conf', '3des')],
    ] as const) {
      await expect(chosen(wanted, challenge)).rejects.toMatchObject({ code: 'ERR_SECURITY' });
    }
  });

  it('is not led astray by what is no challenge', async () => {
    for (const challenge of ['', 'nonce', 'nonce="', 'nonce="a",algorithm=md5', 'x'.repeat(5000), '=,=']) {
      const session = new DigestSession(CHRIS, ['authentication'], 'there');
      await expect(session.respond(Buffer.from(challenge))).rejects.toMatchObject({ code: 'ERR_CORRUPTION' });
    }
  });

  it('enciphers as RC4 does', () => {
    // RFC 6229, key of 40 bits.
    expect(new Rc4(Buffer.from('0102030405', 'hex')).apply(Buffer.alloc(16)).toString('hex')).toBe(
      'b2396305f03dc027ccc3524a0a1118a8',
    );
  });

  it('signs with the keys of RFC 2831', () => {
    const ha1 = md5('a');
    const signed = new DigestLayer(ha1, false).wrap(Buffer.from('hello'));
    const key = md5(
      Buffer.concat([ha1, Buffer.from('Digest session key to client-to-server signing key magic constant')]),
    );
    const mac = createHmac('md5', key).update(Buffer.alloc(4)).update('hello').digest().subarray(0, 10);
    expect(signed).toEqual(Buffer.concat([Buffer.from('hello'), mac, Buffer.of(0, 1, 0, 0, 0, 0)]));
  });

  it('passes any messages in order, and none that was changed, repeated or left out', async () => {
    const messages = fc.array(fc.uint8Array({ minLength: 1, maxLength: 200 }), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(messages, fc.boolean(), fc.nat(), fc.nat(255), async (sent, seals, at, change) => {
        const ha1 = md5('secret');
        const client = new WrappedStream(new DigestLayer(ha1, seals));
        const server = new WrappedStream(new DigestLayer(ha1, seals, true));
        const stream = Buffer.concat(
          await sent.reduce<Promise<Buffer[]>>(
            async (before, message) => [...(await before), await client.wrap(Buffer.from(message))],
            Promise.resolve([]),
          ),
        );
        const got: Buffer[] = [];
        for (let from = 0; from < stream.length; from += 37) {
          got.push(...(await server.unwrap(stream.subarray(from, from + 37))));
        }
        expect(Buffer.concat(got)).toEqual(Buffer.concat(sent));
        // One byte of the first message's body is changed.
        const damaged = Buffer.from(stream);
        const body = damaged.readInt32BE(0);
        damaged[4 + (at % body)]! ^= change || 1;
        const other = new WrappedStream(new DigestLayer(ha1, seals, true));
        await expect(other.unwrap(damaged.subarray(0, 4 + body))).rejects.toMatchObject({
          code: 'ERR_CORRUPTION',
        });
        await expect(server.unwrap(stream.subarray(0, 4 + body))).rejects.toMatchObject({
          code: 'ERR_CORRUPTION',
        });
      }),
      { numRuns: scaled(10, 30, 300) },
    );
  });
});

describe('a delegation token', () => {
  const token = {
    identifier: Buffer.from([0x08, 1, ...new Array<number>(200).fill(7)]),
    password: Buffer.alloc(20, 9),
    service: 'a-cluster',
  };

  it('is passed on as text, as Hadoop writes it', () => {
    const text = encodeToken(token);
    expect(Buffer.from(text, 'base64url').subarray(0, 2)).toEqual(Buffer.of(0x8f, 202));
    expect(parseToken(text)).toEqual(token);
    expect(Buffer.from(text, 'base64url').includes('HBASE_AUTH_TOKEN')).toBe(true);
  });

  it('of a secret has every field that HBase requires of an identifier: kind, name, number of the key', () => {
    const { identifier } = secretToken('ann', 'a-secret-0123456789');
    expect(Buffer.from(identifier).toString('hex')).toBe('00000009' + '0800' + '1203616e6e' + '1800');
  });

  it('is refused when it is none', () => {
    const text = encodeToken(token);
    for (const wrong of ['', 'x', text.slice(0, -8), `${text}AAAA`, Buffer.alloc(40).toString('base64')]) {
      expect(() => parseToken(wrong)).toThrowError(/token/);
    }
    expect(() => tokenAuthenticator({ ...token, password: 'x' } as never)).toThrowError(/delegation token/);
    expect(() => tokenAuthenticator(token, { protection: 'none' } as never)).toThrowError(/protection is/);
  });
});

describe('a connection that is signed or sealed', () => {
  let peer: FakePeer;
  let engine: HBaseEngine | undefined;
  afterEach(async () => {
    await engine?.close();
    await peer.stop();
  });

  it('ends when what comes was changed, and the calls on it are told', async () => {
    let layerFails = 0;
    peer = await FakePeer.start(undefined, { sasl: () => 'done' });
    const layer = {
      wrap: async (data: Buffer) => data,
      unwrap: async (): Promise<Buffer[]> => {
        layerFails++;
        throw new Error('changed');
      },
    };
    const opening = connectHBase({
      masters: [peer.address],
      retries: 0,
      operationTimeout: 2000,
      authenticator: {
        code: 0x52,
        async negotiate(socket) {
          socket.write(Buffer.of(0, 0, 0, 1, 0));
          return { layer };
        },
      },
    });
    await expect(opening).rejects.toMatchObject({
      code: expect.stringMatching(/ERR_(CONNECTION|CORRUPTION)/),
    });
    expect(layerFails).toBeGreaterThan(0);
  });
});
