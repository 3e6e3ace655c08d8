import { ProtocolError } from '../rpc/errors.js';
import type { KerberosClient } from './kerberos-module.js';
import type { MessageLayer } from './wrapped-stream.js';

/** Signs messages with a Kerberos context (RFC 4121), or seals them too. */
export class GssapiLayer implements MessageLayer {
  /** The package keeps one answer for each context: two calls at once would take each other's. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly client: KerberosClient,
    private readonly seals: boolean,
  ) {}

  wrap(message: Buffer): Promise<Buffer> {
    return this.oneByOne(async () =>
      fromBase64(await this.client.wrap(message.toString('base64'), { protect: this.seals })),
    );
  }

  /** @throws ProtocolError when it was changed, came out of order, or was to be sealed and is not. */
  unwrap(message: Buffer): Promise<Buffer> {
    return this.oneByOne(async () => {
      const plain = fromBase64(await this.client.unwrap(message.toString('base64')));
      if (this.seals && Number(this.client.responseConf ?? 1) !== 1) {
        throw new ProtocolError('The server sent a message that was to be sealed, and is not.');
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

function fromBase64(text: string | null | undefined): Buffer {
  return Buffer.from(text ?? '', 'base64');
}
