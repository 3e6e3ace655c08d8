import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, connect as connectTls } from 'node:tls';
import { timerDelay } from '../../table/checks.js';
import type { SecurityLayer } from '../security/authenticator.js';
import { addressKey, type ConnectionSettings, type ServerAddress } from './connection-settings.js';
import { ConnectionError } from './errors.js';
import { withTimeout } from './first-answer.js';
import type { FrameAssembler } from './frames.js';

/** What opening a socket takes of the settings of a connection. */
export type TransportSettings = Pick<ConnectionSettings, 'connectTimeout' | 'resolveAddress' | 'tls'>;

/** How long an idle connection waits before the operating system probes it. */
const KEEP_ALIVE_DELAY = 15_000;

/**
 * A connected socket to `address`. When `signal` aborts, whatever has been opened is closed at once. Without TLS `reader` gets
 * what comes, in place of events.
 * @throws ConnectionError when it cannot be reached in time, with the address that was tried.
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
      socket.on('error', () => undefined); // a late error of a socket given up must not end the process
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

/** A certificate is held against the name that the cluster gave, wherever `resolveAddress` found the server. */
function identityOf({ host }: ServerAddress): ConnectionOptions {
  // A name may be sent ahead of the handshake, an address may not (RFC 6066).
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
 * A socket whose bytes pass a {@link SecurityLayer}. Layers count messages, and may take their time: what goes out leaves
 * in the order it was given, what comes in is handed on in the order it came, and nothing behind a failure is.
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
    /** Told once, of the first failure. */
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Bytes that have not been wrapped yet. */
  get unsentBytes(): number {
    return this.waiting;
  }

  /** `data` is no longer needed when `onWritten` is called. */
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

/** What is read while no large frame is under way. All sockets of a thread share it: it is emptied before the next read. */
const SHARED = Buffer.allocUnsafeSlow(65536);

export interface SocketReaderOwner {
  /** Bytes have come, which are looked at then. */
  onArrival(): void;
  /** They are no frames, or what takes frames has failed. */
  onUnreadable(error: unknown): void;
}

/**
 * Reads from a plain socket to where the bytes stay: what a large frame lacks straight into its memory, in reads as large as that.
 * A stream's own chunks would cost an allocation of 64 KiB and a copy each.
 */
export class SocketReader {
  /** Where the read that is under way puts its bytes; undefined: in the shared buffer. */
  private space: Buffer | undefined;

  constructor(
    private readonly frames: FrameAssembler,
    private readonly owner: SocketReaderOwner,
  ) {}

  /** For `net.connect`. */
  readonly onread = {
    // A function is asked again for each read, which the types do not know.
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
