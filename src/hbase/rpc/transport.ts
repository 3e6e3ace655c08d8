import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, connect as connectTls } from 'node:tls';
import { timerDelay } from '../../table/checks.js';
import type { SecurityLayer } from '../security/authenticator.js';
import { addressKey, type ConnectionSettings, type ServerAddress } from './connection-settings.js';
import { ConnectionError } from './errors.js';
import { withTimeout } from './first-answer.js';
import type { FrameAssembler } from './frames.js';

/** The connection settings that opening a socket uses. */
type TransportSettings = Pick<ConnectionSettings, 'connectTimeout' | 'resolveAddress' | 'tls'>;

/** Idle time before the operating system sends keep-alive probes, ms. */
const KEEP_ALIVE_DELAY = 15_000;

/**
 * Opens a socket to `address`. When `signal` aborts, it is closed at once. Without TLS, `reader` receives the bytes instead of the
 * socket's events.
 * @throws ConnectionError with the address when it cannot be reached in time.
 */
export async function openSocket(
  address: ServerAddress,
  settings: TransportSettings,
  signal: AbortSignal,
  reader?: Pick<SocketReader, 'onread'>,
): Promise<Socket> {
  const { connectTimeout, resolveAddress, tls } = settings;
  const end = performance.now() + connectTimeout;
  const name = addressKey(address);
  const target =
    resolveAddress === undefined
      ? address
      : await withTimeout(
          Promise.resolve(resolveAddress(address.host, address.port)),
          connectTimeout,
          `resolveAddress for ${name}`,
          signal,
        );
  const tried = addressKey(target) === name ? name : `${name} (resolved to ${addressKey(target)})`;
  return new Promise<Socket>((resolve, reject) => {
    const socket =
      tls === undefined
        ? connectTcp({ host: target.host, port: target.port, ...(reader && { onread: reader.onread }) })
        : connectTls({ host: target.host, port: target.port, ...identityOf(address), ...tls });
    const settle = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    const fail = (cause: Error): void => {
      settle();
      socket.removeAllListeners();
      socket.on('error', () => undefined); // A late error event without a listener would end the process.
      socket.destroy();
      reject(
        new ConnectionError(`Cannot connect to ${tried}: ${cause.message}. ${adviceFor(cause)}`, {
          cause,
          details: { server: name },
        }),
      );
    };
    const onAbort = (): void => fail(new Error('the connection was closed meanwhile'));
    const timer = setTimeout(
      () => fail(new Error(`no answer within ${connectTimeout} ms`)),
      timerDelay(Math.max(1, end - performance.now())),
    );
    signal.addEventListener('abort', onAbort);
    socket.once('error', fail);
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      settle();
      socket.removeListener('error', fail);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_DELAY);
      resolve(socket);
    });
    if (signal.aborted) onAbort();
  });
}

/** The certificate is verified for the name that the cluster gave, not for the result of `resolveAddress`. */
function identityOf({ host }: ServerAddress): ConnectionOptions {
  // SNI takes host names only, not addresses (RFC 6066).
  if (isIP(host) === 0) return { servername: host };
  return { checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate) };
}

function adviceFor(cause: NodeJS.ErrnoException): string {
  switch (cause.code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'The host name does not resolve here: map it with the option resolveAddress.';
    case 'ECONNREFUSED':
      return 'Nothing listens there: check that the server runs and the port is right.';
    default:
      return 'Check the address, the network and the TLS options.';
  }
}

/**
 * A socket whose bytes pass through a {@link SecurityLayer}. Layers number messages and are asynchronous, so the order of bytes is
 * kept in both directions, and nothing is passed on after a failure.
 */
export class SecuredStream {
  private outgoing: Promise<void> = Promise.resolve();
  private incoming: Promise<void> = Promise.resolve();
  private waiting = 0;
  private failed = false;

  constructor(
    private readonly socket: Socket,
    private readonly layer: SecurityLayer,
    private readonly take: (data: Buffer) => void,
    /** Called once, with the first error. */
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Bytes that have not been wrapped yet. */
  get unsentBytes(): number {
    return this.waiting;
  }

  /** `onWritten` is called when `data` may be reused. */
  write(data: Buffer, onWritten: () => void): void {
    this.waiting += data.length;
    this.outgoing = this.next(this.outgoing, async () => {
      const wrapped = await this.layer.wrap(data);
      this.waiting -= data.length;
      onWritten();
      this.socket.write(wrapped);
    });
  }

  receive(chunk: Buffer): void {
    this.incoming = this.next(this.incoming, async () => {
      for (const part of await this.layer.unwrap(chunk)) if (!this.failed) this.take(part);
    });
  }

  private next(before: Promise<void>, work: () => Promise<void>): Promise<void> {
    return before.then(async () => {
      if (this.failed) return;
      try {
        await work();
      } catch (error) {
        if (this.failed) return;
        this.failed = true;
        this.onError(error);
      }
    });
  }
}

/** The buffer of reads outside large frames. All sockets of a thread share it, because it is consumed before the next read. */
const SHARED = Buffer.allocUnsafeSlow(65536);

interface SocketReaderOwner {
  /** Called when bytes have arrived. */
  onArrival(): void;
  /** Called when the bytes are malformed or the frame handler has thrown. */
  onUnreadable(error: unknown): void;
}

/**
 * Reads a plain socket into preallocated memory: the rest of a large frame directly into the frame. A stream's own chunks would cost
 * an allocation of 64 KiB and a copy each.
 */
export class SocketReader {
  /** The target of the current read; undefined: the shared buffer. */
  private space: Buffer | undefined;

  constructor(
    private readonly frames: FrameAssembler,
    private readonly owner: SocketReaderOwner,
  ) {}

  /** For `net.connect`. */
  readonly onread = {
    // Node also accepts a function, called for each read, which its types lack.
    buffer: (() => {
      this.space = this.frames.space();
      return this.space ?? SHARED;
    }) as unknown as Uint8Array,
    callback: (count: number): boolean => {
      this.take(count);
      return true;
    },
  } satisfies OnReadOpts;

  private take(count: number): void {
    this.owner.onArrival();
    try {
      if (this.space === undefined) this.frames.pushLent(SHARED.subarray(0, count));
      else this.frames.fill(count);
    } catch (error) {
      this.owner.onUnreadable(error);
    }
  }
}
