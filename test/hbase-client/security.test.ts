import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import {
  type KerberosClient,
  type KerberosModule,
  kerberosAuthenticator,
} from '../../src/hbase/security/kerberos.js';
import { ConnectionHeader } from '../../src/hbase/wire/messages-rpc.js';
import { decodeMessage } from '../../src/hbase/wire/schema.js';
import { Get } from '../../src/table/index.js';
import { FakePeer, type PeerOptions } from './fake-peer.js';

const read = (name: string): Buffer => readFileSync(new URL(`./fixtures/${name}`, import.meta.url));
const cert = read('tls-cert.pem');
const key = read('tls-key.pem');

let peer: FakePeer;
let engine: HBaseEngine | undefined;

async function open(peerOptions: PeerOptions, options: HBaseOptions): Promise<HBaseEngine> {
  peer = await FakePeer.start(undefined, peerOptions);
  engine = await connectHBase({ masters: [peer.address], pause: 1, retries: 1, ...options });
  return engine;
}

afterEach(async () => {
  await engine?.close();
  engine = undefined;
  await peer.stop();
});

describe('TLS', () => {
  it('carries the protocol to a server whose certificate is trusted', async () => {
    const { clusterId } = await open({ tls: { cert, key } }, { tls: { ca: cert } });
    expect(clusterId).toBe('fake');
    expect((await engine!.table('t').get(new Get('r'))).isEmpty).toBe(true);
  });

  it('holds the certificate against the name that the cluster gave, wherever that is mapped to', async () => {
    const connect = (masters: string[]): Promise<HBaseEngine> =>
      connectHBase({
        masters,
        retries: 0,
        tls: { ca: cert },
        resolveAddress: () => ({ host: '127.0.0.1', port: peer.port }),
      });
    peer = await FakePeer.start(undefined, { tls: { cert, key } });
    engine = await connect(['localhost:1']);
    for (const other of ['hbase.example.org:1', '127.0.0.2:1']) {
      await expect(connect([other])).rejects.toMatchObject({
        code: 'ERR_CONNECTION',
        message: expect.stringMatching(/does not match certificate/),
      });
    }
  });

  it('refuses a certificate that is not trusted, and says so', async () => {
    await expect(open({ tls: { cert, key } }, { tls: {} })).rejects.toMatchObject({
      code: 'ERR_CONNECTION',
      message: expect.stringMatching(/self-signed|unable to verify/),
    });
  });

  it('shows its own certificate to a server that asks for one', async () => {
    const tls = { cert, key, ca: cert, requestCert: true, rejectUnauthorized: true };
    await expect(open({ tls }, { tls: { ca: cert } })).rejects.toMatchObject({ code: 'ERR_CONNECTION' });
    await peer.stop();
    await open({ tls }, { tls: { ca: cert, cert, key } });
  });
});

/** A Kerberos whose context stands after two steps; tokens are words. */
function fakeKerberos(log: string[]): KerberosModule {
  return {
    async initializeClient(service, { principal }) {
      log.push(`${principal ?? 'default'} to ${service}`);
      let steps = 0;
      const text = (base64: string): string => Buffer.from(base64, 'base64').toString();
      const base64 = (value: string): string => Buffer.from(value).toString('base64');
      const client: KerberosClient = {
        get contextComplete() {
          return steps >= 2;
        },
        username: 'ann@REALM',
        async step(challenge) {
          log.push(`step ${text(challenge)}`);
          steps++;
          return steps === 1 ? base64('ap-req') : '';
        },
        async unwrap(challenge) {
          log.push(`unwrap ${text(challenge)}`);
          return base64('\x01\0\0\0');
        },
        async wrap(challenge) {
          log.push(`wrap ${Buffer.from(challenge, 'base64').toString('hex')}`);
          return base64('no layer');
        },
      };
      return client;
    },
  };
}

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const hadoop = (text: string): Buffer => Buffer.concat([int32(text.length), Buffer.from(text)]);
const answer = (token: string): Buffer => Buffer.concat([int32(0), hadoop(token)]);

describe('Kerberos', () => {
  it('exchanges its tokens, answers the round about the layer, and goes on in plain', async () => {
    const log: string[] = [];
    const tokens: string[] = [];
    const sasl = (token: Buffer): Uint8Array | 'done' => {
      tokens.push(token.toString());
      if (tokens.length % 3 === 0) return 'done';
      return answer(tokens.length % 3 === 1 ? 'ap-rep' : 'offer');
    };
    const authenticator = kerberosAuthenticator({ kerberos: fakeKerberos(log), principal: 'ann' });
    const { clusterId } = await open({ sasl }, { authenticator });
    expect(clusterId).toBe('fake');
    expect(tokens).toEqual(['ap-req', '', 'no layer']);
    expect(log).toEqual(['ann to hbase@127.0.0.1', 'step ', 'step ap-rep', 'unwrap offer', 'wrap 01000000']);
    // The next connection is authenticated by itself.
    expect((await engine!.table('t').get(new Get('r'))).isEmpty).toBe(true);
    expect(tokens).toHaveLength(6);
  });

  it('names no other user than the one who authenticated, unless one is to be acted for', async () => {
    const sasl = (): (() => Uint8Array | 'done') => {
      let tokens = 0;
      return () => (++tokens % 3 === 0 ? 'done' : answer('token'));
    };
    const userOf = (): unknown => {
      const hello = peer.hellos.at(-1)!;
      return decodeMessage(ConnectionHeader, hello, 10).userInfo;
    };
    const authenticator = kerberosAuthenticator({ kerberos: fakeKerberos([]) });
    await open({ sasl: sasl() }, { authenticator });
    expect(userOf()).toBeUndefined();
    await engine!.close();
    await peer.stop();
    await open({ sasl: sasl() }, { authenticator, user: 'bob' });
    expect(userOf()).toEqual({ effectiveUser: 'bob', realUser: undefined });
    await engine!.close();
    await peer.stop();
    // At a server that wants no authentication the name is what there is.
    const simple = (): Uint8Array => Buffer.concat([int32(0), int32(-88)]);
    const willing = kerberosAuthenticator({ kerberos: fakeKerberos([]), fallbackToSimple: true });
    await open({ sasl: simple, saslTokens: 1 }, { authenticator: willing });
    expect(userOf()).toMatchObject({ effectiveUser: expect.stringMatching(/./) });
  });

  it('hears the last word of a server: that it is refused after all, or once more that it is well', async () => {
    const lastWord = (word: Uint8Array): (() => Uint8Array) => {
      let tokens = 0;
      return () => (++tokens % 3 === 0 ? word : answer('token'));
    };
    const authenticator = kerberosAuthenticator({ kerberos: fakeKerberos([]) });
    const refusal = Buffer.concat([int32(1), hadoop('SaslException'), hadoop('no such layer')]);
    await expect(open({ sasl: lastWord(refusal) }, { authenticator })).rejects.toMatchObject({
      code: 'ERR_SECURITY',
      message: expect.stringContaining('no such layer'),
    });
    await peer.stop();
    await open({ sasl: lastWord(answer('well')), saslTokens: 3 }, { authenticator });
    expect(engine!.clusterId).toBe('fake');
  });

  it('reports the refusal of a server in its words', async () => {
    const sasl = (): Uint8Array =>
      Buffer.concat([int32(1), hadoop('javax.security.sasl.SaslException'), hadoop('No')]);
    const authenticator = kerberosAuthenticator({ kerberos: fakeKerberos([]) });
    await expect(open({ sasl }, { authenticator })).rejects.toMatchObject({
      code: 'ERR_SECURITY',
      message: expect.stringContaining('javax.security.sasl.SaslException: No'),
    });
  });

  it('does not go on at a server that wants no authentication', async () => {
    const sasl = (): Uint8Array => Buffer.concat([int32(0), int32(-88)]);
    const kerberos = fakeKerberos([]);
    await expect(
      open({ sasl }, { authenticator: kerberosAuthenticator({ kerberos }) }),
    ).rejects.toMatchObject({
      code: 'ERR_SECURITY',
      message: expect.stringContaining('does not authenticate'),
    });
  });

  it('gives up on a server that says nothing', async () => {
    const sasl = (): Uint8Array => new Uint8Array(0);
    const authenticator = kerberosAuthenticator({ kerberos: fakeKerberos([]) });
    await expect(open({ sasl }, { authenticator, connectTimeout: 100 })).rejects.toMatchObject({
      code: 'ERR_CONNECTION',
      message: expect.stringContaining('within 100 ms'),
    });
  });

  it('names the package that is missing', async () => {
    await expect(open({}, { authenticator: kerberosAuthenticator() })).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED',
      message: expect.stringContaining('npm install kerberos'),
    });
  });
});
