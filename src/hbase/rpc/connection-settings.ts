import type { ConnectionOptions } from 'node:tls';
import { constants, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import type { ProtoWriter } from '../wire/proto-writer.js';
import { AnswerTooLargeError, ProtocolError } from './errors.js';

/** A server as the cluster names it. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** "host:port", which identifies a server. */
export function addressKey(address: ServerAddress): string {
  return `${address.host}:${address.port}`;
}

/** The services of HBase's RPC, and that of `rowan serve`. A connection serves one of them. */
export type ServiceName =
  | 'ClientService'
  | 'AdminService'
  | 'MasterService'
  | 'ClientMetaService'
  | 'RowanTransactionService';

/** Maps an address that the cluster names to the one to connect to: for NAT, containers and tunnels. */
export type ResolveAddress = (host: string, port: number) => ServerAddress | Promise<ServerAddress>;

/** The settings of every connection. */
export interface ConnectionSettings {
  /** The user's name without authentication, or the user that the authenticated one impersonates. */
  readonly user: string | undefined;
  /** The user's name without authentication when {@link user} is not given. */
  readonly systemUser: string;
  readonly connectTimeout: number;
  /** Milliseconds without a byte, while calls await answers, after which a connection is given up. */
  readonly rpcTimeout: number;
  readonly maxFrameSize: number;
  /** Objects, such as cells, that one answer may be decoded into. */
  readonly maxAnswerCells: number;
  readonly resolveAddress: ResolveAddress | undefined;
  readonly tls: TlsOptions | undefined;
  readonly connectionAttributes: Readonly<Record<string, string>>;
  readonly cellBlockCompression: CellBlockCompression | undefined;
}

/** TLS to every server (HBase 2.6 `hbase.server.netty.tls.enabled`). Everything else is Node's `tls.connect`. */
export type TlsOptions = Pick<
  ConnectionOptions,
  | 'ca'
  | 'cert'
  | 'key'
  | 'pfx'
  | 'passphrase'
  | 'servername'
  | 'rejectUnauthorized'
  | 'minVersion'
  | 'ciphers'
>;

/** The authentication method's byte in the preamble. */
export const AuthCode = { Simple: 0x50, Kerberos: 0x51, Digest: 0x52 } as const;
export type AuthCode = (typeof AuthCode)[keyof typeof AuthCode];

/** Compression of cell blocks, in both directions. */
export type CellBlockCompression = 'gzip' | 'deflate';

interface Method {
  /** The name of Hadoop's codec class, sent to the server. */
  readonly codecClass: string;
  pack(bytes: Uint8Array): Buffer;
  unpack(bytes: Uint8Array, options: { readonly maxOutputLength: number }): Buffer;
}

/** The fastest level, because callers wait for it. */
const FAST = { level: constants.Z_BEST_SPEED };

export const COMPRESSIONS: Readonly<Record<CellBlockCompression, Method>> = {
  gzip: {
    codecClass: 'org.apache.hadoop.io.compress.GzipCodec',
    pack: (bytes) => gzipSync(bytes, FAST),
    unpack: gunzipSync,
  },
  deflate: {
    codecClass: 'org.apache.hadoop.io.compress.DefaultCodec',
    pack: (bytes) => deflateSync(bytes, FAST),
    unpack: inflateSync,
  },
};

/** Compresses the bytes written since `mark`. */
export function packCells(compression: CellBlockCompression, writer: ProtoWriter, mark: number): void {
  const { position } = writer;
  const packed = COMPRESSIONS[compression].pack(
    writer.buffer.subarray(position, position + writer.mark() - mark),
  );
  writer.rewind(mark);
  writer.raw(packed);
}

/**
 * Decompresses a cell block.
 * @throws AnswerTooLargeError above `limit` bytes, before they are allocated; ProtocolError for a malformed block.
 */
export function unpackCells(compression: CellBlockCompression, block: Buffer, limit: number): Buffer {
  try {
    return COMPRESSIONS[compression].unpack(block, { maxOutputLength: limit });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') {
      throw new ProtocolError(`A cell block is no ${compression}: ${(cause as Error).message}.`, { cause });
    }
    throw new AnswerTooLargeError(
      `A cell block of ${block.length} bytes unpacks to more than maxFrameSize (${limit}) allows. Ask for fewer columns ` +
        'or versions, scan the row with setBatch, or raise maxFrameSize.',
      { cause },
    );
  }
}
