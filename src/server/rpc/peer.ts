/** Describes the client of a connection, by its header. */

import { type CellBlockCompression, COMPRESSIONS } from '../../hbase/rpc/connection-settings.js';
import { ConnectionHeader } from '../../hbase/wire/messages-rpc.js';
import { decodeMessage } from '../../hbase/wire/schema.js';
import { JavaClass, ServerException } from '../errors.js';

export interface Peer {
  readonly user: string;
  readonly service: string;
  /** Whether cells may follow messages in a cell block; otherwise they are inline. */
  readonly takesCellBlocks: boolean;
  /** The same for the results of gets. */
  readonly takesCellBlocksOfGets: boolean;
  readonly compression: CellBlockCompression | undefined;
  /** Whether a `Multi` may be answered partially; the client then requests the rest at once. */
  readonly retriesAtOnce: boolean;
}

const CODEC = 'org.apache.hadoop.hbase.codec.KeyValueCodec';

/**
 * Parses a `ConnectionHeader`.
 * @param user the authenticated user; undefined: the name in the header is trusted.
 * @throws ServerException for unsupported features; ProtocolError.
 */
export function readPeer(bytes: Uint8Array, user: string | undefined): Peer {
  const header = decodeMessage(ConnectionHeader, bytes);
  const codec = header.cellBlockCodecClass ?? '';
  if (codec !== '' && codec !== CODEC) {
    throw new ServerException(
      JavaClass.UnsupportedCellCodec,
      `The cell codec ${codec.slice(0, 200)} is not supported. Set hbase.client.rpc.codec to ${CODEC}.`,
    );
  }
  const { versionMajor: major = 0, versionMinor: minor = 0 } = header.versionInfo ?? {};
  const isAtLeast = (wanted: number): boolean => major > 1 || (major === 1 && minor >= wanted);
  return {
    user: user ?? header.userInfo?.effectiveUser ?? '',
    service: header.serviceName ?? '',
    takesCellBlocks: codec !== '',
    takesCellBlocksOfGets: codec !== '' && isAtLeast(3),
    compression: compressionOf(header.cellBlockCompressorClass ?? ''),
    retriesAtOnce: isAtLeast(2),
  };
}

function compressionOf(codecClass: string): CellBlockCompression | undefined {
  if (codecClass === '') return undefined;
  for (const [name, method] of Object.entries(COMPRESSIONS)) {
    if (method.codecClass === codecClass) return name as CellBlockCompression;
  }
  throw new ServerException(
    JavaClass.UnsupportedCompression,
    `The compressor ${codecClass.slice(0, 200)} is not supported. Remove hbase.client.rpc.compressor, or set it to ` +
      'org.apache.hadoop.io.compress.GzipCodec.',
  );
}
