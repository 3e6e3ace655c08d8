/** Who is at the other end of a connection, as its header says. */

import { type CellBlockCompression, COMPRESSIONS } from '../../hbase/rpc/connection-settings.js';
import { ConnectionHeader } from '../../hbase/wire/messages-rpc.js';
import { decodeMessage } from '../../hbase/wire/schema.js';
import { JavaClass, ServerException } from '../errors.js';

export interface Peer {
  readonly user: string;
  readonly service: string;
  /** Whether cells may stand behind messages; else they stand in them. */
  readonly takesCellBlocks: boolean;
  /** Whether those of gets may. */
  readonly takesCellBlocksOfGets: boolean;
  readonly compression: CellBlockCompression | undefined;
  /** Whether a `Multi` may be answered in part, the rest being asked for again at once. */
  readonly retriesAtOnce: boolean;
}

const CODEC = 'org.apache.hadoop.hbase.codec.KeyValueCodec';

/**
 * Reads a `ConnectionHeader`.
 * @param user who the client has proved to be; undefined: it is believed.
 * @throws ServerException for what is not spoken; ProtocolError.
 */
export function readPeer(bytes: Uint8Array, user: string | undefined): Peer {
  const header = decodeMessage(ConnectionHeader, bytes);
  const codec = header.cellBlockCodecClass ?? '';
  if (codec !== '' && codec !== CODEC) {
    throw new ServerException(
      JavaClass.UnsupportedCellCodec,
      `Cells are read by ${CODEC}, not by ${codec.slice(0, 200)}. Set hbase.client.rpc.codec to it.`,
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
    `Cells are not compressed by ${codecClass.slice(0, 200)} here. Leave hbase.client.rpc.compressor out, or set it to ` +
      'org.apache.hadoop.io.compress.GzipCodec.',
  );
}
