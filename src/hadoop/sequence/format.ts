/**
 * Sequence files of Hadoop, version 6, as HBase's Export writes them: rows by their keys (docs/bulk-load.md). FROZEN.
 *
 *     head     "SEQ" 06 | class of keys | class of values | compressed (1) | in blocks (1) | [codec's class] | metadata: pairs (4), texts | sync (16)
 *     record   length (4) | length of the key (4) | key | value, packed if compressed
 *     block    -1 (4) | sync (16) | records, vint | lengths of keys | keys | lengths of values | values; each: bytes, vint | packed bytes
 *
 * Between records stands now and then -1 (4) | sync (16). A key is a length (4) and bytes, a value the message `Result` behind its
 * length; classes and texts are a length (vint) and UTF-8. Numbers are big-endian.
 */

import { promisify } from 'node:util';
import { deflate, gunzip, gzip, inflate } from 'node:zlib';
import { CorruptionError } from '../../errors.js';

export const MAGIC = Buffer.from('SEQ\u0006', 'latin1');
export const SYNC_BYTES = 16;
export const KEY_CLASS = 'org.apache.hadoop.hbase.io.ImmutableBytesWritable';
export const VALUE_CLASS = 'org.apache.hadoop.hbase.client.Result';

/** What a block, or a record, unpacks to at the most. */
export const LARGEST_UNPACKED = 256 << 20;

type Unpack = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>;
type Pack = (bytes: Uint8Array, options: { level: number }) => Promise<Buffer>;

/** The codecs that are known here, by their classes. */
const CODECS: Readonly<Record<string, { readonly pack: Pack; readonly unpack: Unpack }>> = {
  'org.apache.hadoop.io.compress.DefaultCodec': { pack: promisify(deflate), unpack: promisify(inflate) },
  'org.apache.hadoop.io.compress.DeflateCodec': { pack: promisify(deflate), unpack: promisify(inflate) },
  'org.apache.hadoop.io.compress.GzipCodec': { pack: promisify(gzip), unpack: promisify(gunzip) },
};
export const CODEC_CLASSES: readonly string[] = Object.keys(CODECS);
/** What is written with: deflate, as Hadoop does by default. */
export const WRITTEN_CODEC = CODEC_CLASSES[0]!;

export function pack(bytes: Uint8Array): Promise<Buffer> {
  return CODECS[WRITTEN_CODEC]!.pack(bytes, { level: 1 });
}

/** @throws CorruptionError when it is nothing that the codec packed, or more than {@link LARGEST_UNPACKED}. */
export async function unpack(codec: string, bytes: Uint8Array): Promise<Buffer> {
  try {
    return await CODECS[codec]!.unpack(bytes, { maxOutputLength: LARGEST_UNPACKED });
  } catch (cause) {
    throw new CorruptionError(`it cannot be unpacked (${(cause as Error).message})`, { cause });
  }
}
