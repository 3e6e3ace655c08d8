/** Kerberos (SASL GSSAPI) by way of the npm package `kerberos`, which is not installed with Rowan. */

import { RowanError, UnsupportedError } from '../../errors.js';
import { addressKey, type ServerAddress } from '../rpc/address.js';
import { AuthCode } from '../rpc/hello.js';
import type { Authenticator } from './authenticator.js';
import { negotiateSasl, type SaslSession } from './sasl.js';

/** What is used of the package `kerberos`; tokens are base64. */
export interface KerberosModule {
  initializeClient(
    service: string,
    options: { readonly principal?: string; readonly mechOID?: number },
  ): Promise<KerberosClient>;
}

export interface KerberosClient {
  readonly contextComplete: boolean;
  readonly username?: string;
  step(challenge: string): Promise<string>;
  unwrap(challenge: string): Promise<string>;
  wrap(challenge: string, options: { readonly user: string }): Promise<string>;
}

export interface KerberosOptions {
  /** The client's principal, of which a ticket is in the cache or the keytab; default: that of the ticket cache. */
  readonly principal?: string;
  /** The first part of the servers' principal (`hbase.regionserver.kerberos.principal`); default "hbase". */
  readonly serviceName?: string;
  /** The host part of the servers' principal; default: the host by which the cluster names the server, lower case. */
  readonly serviceHost?: (server: ServerAddress) => string | Promise<string>;
  /** Go on without authentication at a server that wants none; default false. */
  readonly fallbackToSimple?: boolean;
  /** The package `kerberos`, if it is loaded already. */
  readonly kerberos?: KerberosModule;
}

/**
 * Authenticates with Kerberos tickets, quality of protection "authentication": requests themselves are not signed or
 * sealed; use TLS for that.
 * @throws UnsupportedError on the first connection when the package `kerberos` is not installed.
 */
export function kerberosAuthenticator(options: KerberosOptions = {}): Authenticator {
  return {
    code: AuthCode.Kerberos,
    async negotiate(socket, server) {
      const kerberos = options.kerberos ?? (await loadKerberos());
      const host = await (options.serviceHost?.(server) ?? server.host.toLowerCase());
      const service = `${options.serviceName ?? 'hbase'}@${host}`;
      let client: KerberosClient;
      try {
        client = await kerberos.initializeClient(
          service,
          options.principal === undefined ? {} : { principal: options.principal },
        );
      } catch (cause) {
        throw securityError(`Kerberos could not begin with ${service}`, cause);
      }
      const session = new GssapiSession(client, options.principal ?? '');
      return negotiateSasl(socket, session, addressKey(server), options.fallbackToSimple ?? false);
    },
  };
}

/** RFC 4752: tokens until the context stands, then one round about the security layer, in which none is chosen. */
class GssapiSession implements SaslSession {
  isComplete = false;
  readonly layer = undefined;

  constructor(
    private readonly client: KerberosClient,
    private readonly principal: string,
  ) {}

  start(): Promise<Uint8Array> {
    return this.call('begin', async () => fromBase64(await this.client.step('')));
  }

  respond(challenge: Uint8Array): Promise<Uint8Array | undefined> {
    const token = Buffer.from(challenge).toString('base64');
    return this.call('go on', async () => {
      if (!this.client.contextComplete) {
        const answer = await this.client.step(token);
        // The last step may have nothing to say, and the server waits for an empty token then.
        return fromBase64(answer ?? '');
      }
      const offered = await this.client.unwrap(token);
      const chosen = await this.client.wrap(offered, { user: this.client.username ?? this.principal });
      this.isComplete = true;
      return fromBase64(chosen);
    });
  }

  private async call<T>(what: string, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (cause) {
      throw securityError(`Kerberos could not ${what}`, cause);
    }
  }
}

function fromBase64(text: string): Uint8Array {
  return Buffer.from(text, 'base64');
}

function securityError(what: string, cause: unknown): RowanError {
  const message = `${what}: ${(cause as Error)?.message ?? String(cause)}. Check the ticket (klist), krb5.conf and clocks.`;
  return new RowanError('ERR_SECURITY', message, { cause });
}

async function loadKerberos(): Promise<KerberosModule> {
  // A name that the compiler does not look up: the package is there or not.
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
