import type { ConnectionOptions } from 'node:tls';
import { constants, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import type { ProtoWriter } from '../wire/proto-writer.js';
import { AnswerTooLargeError, ProtocolError } from './errors.js';

/** A server as the cluster names it. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** "host:port", by which servers are told apart. */
export function addressKey(address: ServerAddress): string {
  return `${address.host}:${address.port}`;
}

/** The services of HBase's rpc; one connection serves one of them. */
export type ServiceName = 'ClientService' | 'AdminService' | 'MasterService' | 'ClientMetaService';

/** Gives another address for the one that the cluster names: for servers behind NAT, in containers, through tunnels. */
export type ResolveAddress = (host: string, port: number) => ServerAddress | Promise<ServerAddress>;

/** What every connection is made with. */
export interface ConnectionSettings {
  /** The name that is believed without authentication, or that an authenticated user acts for. */
  readonly user: string | undefined;
  /** The name without authentication when {@link user} is not given. */
  readonly systemUser: string;
  readonly connectTimeout: number;
  /** A connection on which nothing comes for this long although something was asked is given up. */
  readonly rpcTimeout: number;
  readonly maxFrameSize: number;
  /** Cells, and objects of other kinds, that one answer may be made into. */
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

/** The byte of the preamble that says how a client authenticates. */
export const AuthCode = { Simple: 0x50, Kerberos: 0x51, Digest: 0x52 } as const;
export type AuthCode = (typeof AuthCode)[keyof typeof AuthCode];

/** How cell blocks are compressed, both ways. */
export type CellBlockCompression = 'gzip' | 'deflate';

interface Method {
  /** Hadoop's class for it, which the server is told of. */
  readonly codecClass: string;
  pack(bytes: Uint8Array): Buffer;
  unpack(bytes: Uint8Array, options: { readonly maxOutputLength: number }): Buffer;
}

/** Callers wait for it: the little that a higher level saves is not worth their time. */
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

/** Replaces what was written since `mark`. */
export function packCells(compression: CellBlockCompression, writer: ProtoWriter, mark: number): void {
  const { position } = writer;
  const packed = COMPRESSIONS[compression].pack(
    writer.buffer.subarray(position, position + writer.mark() - mark),
  );
  writer.rewind(mark);
  writer.raw(packed);
}

/**
 * The cells of a packed block.
 * @throws AnswerTooLargeError above `limit` bytes, which are never made; ProtocolError for what is not packed so.
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
