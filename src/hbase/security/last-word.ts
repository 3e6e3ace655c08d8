import { RowanError } from '../../errors.js';
import { ProtocolError } from '../rpc/errors.js';

const SUCCESS = 0;
const ERROR = 1;
const LONGEST_REFUSAL = 1 << 16;

/**
 * What a server may still say about an authentication that is complete for the client: that it is refused after all, or
 * once more that it is well. It stands in front of the first answer and takes the form of the exchange; an answer never
 * begins like it, for no answer is of 0 or 1 bytes.
 */
export class LastWord {
  private data: Buffer = Buffer.alloc(0);

  constructor(private readonly server: string) {}

  /**
   * Answers the bytes behind the last word; undefined: more is needed.
   * @throws RowanError `ERR_SECURITY` when the server refuses.
   */
  push(chunk: Buffer): Buffer | undefined {
    this.data = this.data.length === 0 ? chunk : Buffer.concat([this.data, chunk]);
    const { data } = this;
    if (data.length < 4) return undefined;
    const status = data.readInt32BE(0);
    if (status === SUCCESS) return this.behindToken();
    if (status !== ERROR) return data;
    const name = this.textAt(4);
    const message = name === undefined ? undefined : this.textAt(name.end);
    if (name === undefined || message === undefined) return undefined;
    throw refusedBy(this.server, name.text, message.text);
  }

  private behindToken(): Buffer | undefined {
    const token = this.textAt(4);
    if (token === undefined) return undefined;
    const rest = this.data.subarray(token.end);
    this.data = Buffer.alloc(0);
    return rest.length === 0 ? undefined : this.push(rest);
  }

  private textAt(at: number): { readonly text: string; readonly end: number } | undefined {
    const { data } = this;
    if (data.length < at + 4) return undefined;
    const length = data.readInt32BE(at);
    if (length < 0 || length > LONGEST_REFUSAL) {
      throw new ProtocolError(`The server announced ${length} bytes about the authentication.`);
    }
    const end = at + 4 + length;
    return data.length < end ? undefined : { text: data.toString('utf8', at + 4, end), end };
  }
}

const LONGEST_SHOWN = 300;

/** A server's refusal of an authentication, in its words. */
export function refusedBy(server: string, className: string, message: string): RowanError {
  const shown = (text: string): string =>
    text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
  return new RowanError(
    'ERR_SECURITY',
    `HBase server ${server} refused the authentication: ${shown(className)}: ${shown(message)}. Check the principal ` +
      'and its ticket.',
    { details: { server, exceptionClass: shown(className) } },
  );
}
