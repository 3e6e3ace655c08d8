import { RowanError, UnsupportedError } from '../../errors.js';
import { AuthCode, addressKey, type ServerAddress } from '../rpc/connection-settings.js';
import { ProtocolError } from '../rpc/errors.js';
import type { Authenticator } from './authenticator.js';
import {
  chooseProtection,
  type MessageLayer,
  negotiateSasl,
  PROTECTIONS,
  type Protection,
  protectionsOf,
  type SaslSession,
  WrappedStream,
} from './sasl.js';

/** Signs, or signs and seals, messages with a Kerberos context (RFC 4121). */
class GssapiLayer implements MessageLayer {
  /** Calls run one after the other: the package keeps one result for each context. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly client: KerberosClient,
    private readonly seals: boolean,
  ) {}

  wrap(message: Buffer): Promise<Buffer> {
    return this.oneByOne(async () =>
      bytesOfBase64(await this.client.wrap(message.toString('base64'), { protect: this.seals })),
    );
  }

  /** @throws ProtocolError when the message was changed, is out of order, or should be sealed and is not. */
  unwrap(message: Buffer): Promise<Buffer> {
    return this.oneByOne(async () => {
      const plain = bytesOfBase64(await this.client.unwrap(message.toString('base64')));
      if (this.seals && Number(this.client.responseConf ?? 1) !== 1) {
        throw new ProtocolError('The server sent an unsealed message on a sealed connection.');
      }
      return plain;
    });
  }

  private oneByOne(work: () => Promise<Buffer>): Promise<Buffer> {
    const result = this.last.then(work).catch((cause: unknown) => {
      if (cause instanceof ProtocolError) throw cause;
      const why = (cause as Error)?.message ?? String(cause);
      throw new ProtocolError(`A message could not be signed or held against its signature: ${why}.`, {
        cause,
      });
    });
    this.last = result.catch(() => undefined);
    return result;
  }
}

function bytesOfBase64(text: string | null | undefined): Buffer {
  return Buffer.from(text ?? '', 'base64');
}

// — Kerberos (SASL GSSAPI) by the npm package `kerberos`, which is not installed with Rowan.

export interface KerberosOptions {
  /** The client's principal, with a ticket in the cache or a keytab; default: that of the ticket cache. */
  readonly principal?: string;
  /** The first part of the servers' principal (`hbase.regionserver.kerberos.principal`); default "hbase". */
  readonly serviceName?: string;
  /** The host part of the servers' principal; default: the server's host name in the cluster, in lower case. */
  readonly serviceHost?: (server: ServerAddress) => string | Promise<string>;
  /**
   * Protection of requests (`hbase.rpc.protection`): one level, or several in order of preference; default: the lowest that the server
   * offers.
   */
  readonly protection?: Protection | readonly Protection[];
  /** Whether to connect without authentication to a server that requires none; default false. */
  readonly fallbackToSimple?: boolean;
  /** The package `kerberos`, if it is loaded already. */
  readonly kerberos?: KerberosModule;
}

/** The flags `GSS_C_MUTUAL_FLAG`, `REPLAY`, `SEQUENCE`, `CONF`, `INTEG`, needed for signing and sealing. */
const GSS_FLAGS = 2 | 4 | 8 | 16 | 32;
/** RFC 4752, 3.1: the bits of the security layers. */
const LAYER_BITS: Readonly<Record<Protection, number>> = { authentication: 1, integrity: 2, privacy: 4 };
/** The largest wrapped message, as HBase's own client announces. */
const MAX_BUFFER = 65536;

/**
 * Authenticates with Kerberos tickets. Requests are signed or sealed according to {@link KerberosOptions.protection}.
 * @throws UnsupportedError on the first connection when the package `kerberos` is not installed.
 */
export function kerberosAuthenticator(options: KerberosOptions = {}): Authenticator {
  const accepted = protectionsOf(options.protection);
  return {
    code: AuthCode.Kerberos,
    async negotiate(socket, server) {
      const host = await (options.serviceHost?.(server) ?? server.host.toLowerCase());
      const service = `${options.serviceName ?? 'hbase'}@${host}`;
      const session = await gssapiSession(service, accepted, addressKey(server), options);
      return negotiateSasl(socket, session, addressKey(server), options.fallbackToSimple ?? false);
    },
  };
}

/** A GSSAPI session with `service`, `name@host`. */
export async function gssapiSession(
  service: string,
  accepted: readonly Protection[],
  server: string,
  options: Pick<KerberosOptions, 'kerberos' | 'principal'>,
): Promise<SaslSession> {
  const kerberos = options.kerberos ?? (await loadKerberos());
  const { principal } = options;
  try {
    const client = await kerberos.initializeClient(service, {
      flags: GSS_FLAGS,
      ...(principal === undefined ? {} : { principal }),
    });
    return new GssapiSession(client, accepted, server);
  } catch (cause) {
    throw securityError(`Kerberos could not start an exchange with ${service}`, cause);
  }
}

/** RFC 4752: tokens until the context is established, then a round for the security layer. */
class GssapiSession implements SaslSession {
  isComplete = false;
  layer: WrappedStream | undefined;

  constructor(
    private readonly client: KerberosClient,
    private readonly accepted: readonly Protection[],
    private readonly server: string,
  ) {}

  start(): Promise<Uint8Array> {
    return this.call('begin', async () => fromBase64(await this.client.step('')));
  }

  respond(challenge: Uint8Array): Promise<Uint8Array | undefined> {
    const token = Buffer.from(challenge).toString('base64');
    return this.call('go on', async () => {
      if (!this.client.contextComplete) {
        const answer = await this.client.step(token);
        // The last step may produce no token. The server then expects an empty one.
        return fromBase64(answer ?? '');
      }
      const offer = fromBase64((await this.client.unwrap(token)) ?? '');
      const bits = offer[0] ?? 0;
      const offered = PROTECTIONS.filter((one) => (bits & LAYER_BITS[one]) !== 0);
      const chosen = chooseProtection(this.accepted, offered, this.server);
      const answer = Buffer.alloc(4);
      answer.writeUInt32BE(chosen === 'authentication' ? 0 : MAX_BUFFER);
      answer[0] = LAYER_BITS[chosen];
      const wrapped = await this.client.wrap(answer.toString('base64'), { protect: false });
      if (chosen !== 'authentication') {
        // An unsealed message is part of its token. The package up to 7.0.0 writes "no layer" instead of it.
        if (!Buffer.from(fromBase64(wrapped)).includes(answer)) throw cannotProtect(chosen, this.server);
        this.layer = new WrappedStream(new GssapiLayer(this.client, chosen === 'privacy'));
      }
      this.isComplete = true;
      return fromBase64(wrapped);
    });
  }

  private async call<T>(what: string, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (cause) {
      throw cause instanceof RowanError ? cause : securityError(`Kerberos could not ${what}`, cause);
    }
  }
}

function cannotProtect(chosen: Protection, server: string): UnsupportedError {
  return new UnsupportedError(
    `HBase server ${server} is to be spoken to with ${chosen}, and this version of the package kerberos chooses no ` +
      'protection whatever it is told. Authenticate with a delegation token (tokenAuthenticator), which can be ' +
      'protected, or let the servers offer "authentication" too and use TLS.',
  );
}

function fromBase64(text: string): Uint8Array {
  return Buffer.from(text, 'base64');
}

function securityError(what: string, cause: unknown): RowanError {
  const message = `${what}: ${(cause as Error)?.message ?? String(cause)}. Check the ticket (klist), krb5.conf and clocks.`;
  return new RowanError('ERR_SECURITY', message, { cause });
}

async function loadKerberos(): Promise<KerberosModule> {
  // A variable, so that the compiler does not resolve the optional package.
  const name: string = 'kerberos';
  try {
    const loaded = (await import(name)) as KerberosModule & { readonly default?: KerberosModule };
    return loaded.default ?? loaded;
  } catch (cause) {
    throw new UnsupportedError(
      'Kerberos needs the package "kerberos", which is not installed with Rowan: npm install kerberos.',
      { cause },
    );
  }
}

/** The used part of the package `kerberos`; tokens are base64. */
export interface KerberosModule {
  initializeClient(
    service: string,
    options: { readonly principal?: string; readonly mechOID?: number; readonly flags?: number },
  ): Promise<KerberosClient>;
}

export interface KerberosClient {
  readonly contextComplete: boolean;
  readonly username?: string;
  /** Whether the last unwrapped message was sealed: 0 or 1. */
  readonly responseConf?: number | string;
  step(challenge: string): Promise<string>;
  unwrap(challenge: string): Promise<string>;
  wrap(challenge: string, options: { readonly protect: boolean }): Promise<string>;
}
