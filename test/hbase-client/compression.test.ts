import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../src/hbase/options.js';
import { packCells, unpackCells } from '../../src/hbase/rpc/connection-settings.js';
import { connectionHeader } from '../../src/hbase/rpc/handshake.js';
import { optionsOf } from '../../src/hbase/site.js';
import { ConnectionHeader } from '../../src/hbase/wire/messages-rpc.js';
import { ProtoWriter } from '../../src/hbase/wire/proto-writer.js';
import { decodeMessage } from '../../src/hbase/wire/schema.js';

const MEBIBYTE = 1 << 20;
const HADOOP = 'org.apache.hadoop.io.compress';

describe('compressed cell blocks', () => {
  it.each([
    ['gzip', gunzipSync, gzipSync, `${HADOOP}.GzipCodec`],
    ['deflate', inflateSync, deflateSync, `${HADOOP}.DefaultCodec`],
  ] as const)('are packed and unpacked by %s', (compression, unpack, pack, codecClass) => {
    const writer = new ProtoWriter(16);
    writer.raw(Buffer.from('before'));
    const mark = writer.mark();
    writer.raw(Buffer.from('cells '.repeat(1000)));
    packCells(compression, writer, mark);
    const written = writer.view();
    expect(written.subarray(-6).toString()).toBe('before');
    expect(written.length).toBeLessThan(200);
    expect(unpack(written.subarray(0, -6)).toString()).toBe('cells '.repeat(1000));
    const answer = pack(Buffer.from('cells'));
    expect(unpackCells(compression, answer, MEBIBYTE).toString()).toBe('cells');
    const header = connectionHeader('u', 'ClientService', { cellBlockCompression: compression });
    expect(decodeMessage(ConnectionHeader, header, 4).cellBlockCompressorClass).toBe(codecClass);
    const site = new Map([['hbase.client.rpc.compressor', codecClass]]);
    expect(optionsOf(site as never)).toEqual({ cellBlockCompression: compression });
  });

  it('that are a bomb, or nothing of the kind, are refused', () => {
    const bomb = gzipSync(Buffer.alloc(64 * MEBIBYTE));
    expect(() => unpackCells('gzip', bomb, MEBIBYTE)).toThrow(
      expect.objectContaining({ code: 'ERR_TOO_LARGE' }),
    );
    for (const broken of [Buffer.from('text'), bomb.subarray(0, 100), Buffer.alloc(0)]) {
      expect(() => unpackCells('gzip', broken, MEBIBYTE)).toThrow(
        expect.objectContaining({ code: 'ERR_CORRUPTION' }),
      );
    }
  });

  it('are of no other kind', () => {
    const masters = ['localhost:1'];
    for (const wrong of ['snappy', 'constructor', 1]) {
      expect(() => resolveSettings({ masters, cellBlockCompression: wrong as never })).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }),
      );
    }
    const site = new Map([['hbase.client.rpc.compressor', `${HADOOP}.SnappyCodec`]]);
    expect(optionsOf(site as never)).toEqual({});
  });
});
