/** The metadata of an HFile: its file info (names and values) and its trailer. */

import { CorruptionError } from '../../errors.js';
import { ByteBuilder, ByteParser } from '../writable.js';
import {
  BlockMagic,
  COMPARATOR,
  MAGIC_BYTES,
  MAJOR_VERSION,
  MESSAGE_MARK,
  MINOR_VERSION,
  TRAILER_BYTES,
} from './format.js';

export type FileInfo = ReadonlyMap<string, Buffer>;

/** `FileInfoProto`, sorted by name. */
export function packFileInfo(info: FileInfo): Buffer {
  const message = new ByteBuilder();
  const pair = new ByteBuilder();
  for (const [name, value] of [...info].sort(([a], [b]) => (a < b ? -1 : 1))) {
    pair.clear();
    pair.bytesField(1, Buffer.from(name, 'latin1')).bytesField(2, value);
    message.bytesField(1, pair.view());
  }
  return new ByteBuilder().bytes(MESSAGE_MARK).varint(message.length).bytes(message.view()).copy();
}

/** @throws CorruptionError */
export function parseFileInfo(content: Buffer): FileInfo {
  const parser = new ByteParser(content);
  if (!parser.take(MESSAGE_MARK.length).equals(MESSAGE_MARK))
    throw new CorruptionError('there is no file info');
  const message = new ByteParser(parser.take(parser.varint()));
  const info = new Map<string, Buffer>();
  for (let entry = message.field(); entry !== undefined; entry = message.field()) {
    if (entry.number !== 1 || typeof entry.value === 'number') continue;
    const pair = new ByteParser(entry.value);
    let name = '';
    let value: Buffer = Buffer.alloc(0);
    for (let part = pair.field(); part !== undefined; part = pair.field()) {
      if (typeof part.value === 'number') continue;
      if (part.number === 1) name = part.value.toString('latin1');
      else if (part.number === 2) value = part.value;
    }
    info.set(name, value);
  }
  return info;
}

/** `FileTrailerProto`; all fields but the first two are counts and sizes for tools that print them. */
export interface Trailer {
  readonly fileInfoOffset: number;
  readonly loadOnOpenOffset: number;
  readonly indexBytes: number;
  readonly totalBytes: number;
  readonly indexCount: number;
  readonly entries: number;
  readonly indexLevels: number;
  readonly firstDataBlock: number;
  readonly lastDataBlock: number;
  readonly codec: number;
}

/** The numeric fields of the message. 6 is the number of meta blocks: none. */
const FIELDS = {
  fileInfoOffset: 1,
  loadOnOpenOffset: 2,
  indexBytes: 3,
  totalBytes: 4,
  indexCount: 5,
  entries: 7,
  indexLevels: 8,
  firstDataBlock: 9,
  lastDataBlock: 10,
  codec: 12,
} as const satisfies Record<keyof Trailer, number>;
const META_COUNT_FIELD = 6;
const COMPARATOR_FIELD = 11;
const NO_CODEC = 2;

export function packTrailer(trailer: Trailer): Buffer {
  const message = new ByteBuilder();
  for (const [name, field] of Object.entries(FIELDS)) {
    message.numberField(field, trailer[name as keyof Trailer]);
  }
  message.numberField(META_COUNT_FIELD, 0).bytesField(COMPARATOR_FIELD, Buffer.from(COMPARATOR));
  const packed = new ByteBuilder()
    .bytes(Buffer.from(BlockMagic.trailer, 'latin1'))
    .varint(message.length)
    .bytes(message.view());
  const bytes = Buffer.alloc(TRAILER_BYTES);
  bytes.set(packed.view());
  bytes.writeInt32BE((MINOR_VERSION << 24) | MAJOR_VERSION, TRAILER_BYTES - 4);
  return bytes;
}

/** @throws CorruptionError when it is not a trailer, or of another version. */
export function parseTrailer(bytes: Buffer): Trailer {
  const version = bytes.readInt32BE(bytes.length - 4) & 0xffffff;
  if (version !== MAJOR_VERSION) {
    throw new CorruptionError(`it does not end as an HFile of version ${MAJOR_VERSION} does (${version})`);
  }
  const parser = new ByteParser(bytes);
  if (parser.take(MAGIC_BYTES).toString('latin1') !== BlockMagic.trailer) {
    throw new CorruptionError('it has no trailer of an HFile');
  }
  const found = new Map<number, number>([[FIELDS.codec, NO_CODEC]]);
  const message = new ByteParser(parser.take(parser.varint()));
  for (let field = message.field(); field !== undefined; field = message.field()) {
    if (typeof field.value === 'number') found.set(field.number, field.value);
  }
  const number = (name: keyof Trailer): number => found.get(FIELDS[name]) ?? 0;
  return {
    fileInfoOffset: number('fileInfoOffset'),
    loadOnOpenOffset: number('loadOnOpenOffset'),
    indexBytes: number('indexBytes'),
    totalBytes: number('totalBytes'),
    indexCount: number('indexCount'),
    entries: number('entries'),
    indexLevels: number('indexLevels'),
    firstDataBlock: number('firstDataBlock'),
    lastDataBlock: number('lastDataBlock'),
    codec: number('codec'),
  };
}
