import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameAssembler } from '../../src/hbase/rpc/frames.js';
import { SocketReader } from '../../src/hbase/rpc/transport.js';
import { frame } from './fake-peer.js';

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

describe('the assembly of frames', () => {
  it('gives the same frames however the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 97 }), { minLength: 1, maxLength: 40 }),
        (frames, cuts) => {
          const stream = Buffer.concat(frames.map((body) => frame(body)));
          const got: string[] = [];
          const assembler = new FrameAssembler(1000, {
            frame: (buffer, start, end) => got.push(buffer.toString('hex', start, end)),
            oversized: () => got.push('too large'),
          });
          for (let at = 0, i = 0; at < stream.length; i++) {
            const size = cuts[i % cuts.length]!;
            assembler.push(stream.subarray(at, at + size));
            at += size;
          }
          expect(got).toEqual(frames.map((body) => Buffer.from(body).toString('hex')));
        },
      ),
    );
  });

  it('gives the same frames to a reader that puts large ones in place, and what was given stays as it is', () => {
    const most = 200_000;
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 10_000, max: 260_000 })), {
          maxLength: 12,
        }),
        fc.array(fc.integer({ min: 1, max: 90_000 }), { minLength: 1, maxLength: 20 }),
        (sizes, cuts) => {
          const stream = Buffer.concat(sizes.map((size, i) => frame(Buffer.alloc(size, i + 1))));
          const got: { first: number; bytes: Buffer | number }[] = [];
          const assembler = new FrameAssembler(most, {
            frame: (buffer, start, end) =>
              got.push({ first: buffer[start]!, bytes: buffer.subarray(start, end) }),
            oversized: (buffer, start, _end, length) => got.push({ first: buffer[start]!, bytes: length }),
          });
          const failed: unknown[] = [];
          const reader = new SocketReader(assembler, {
            onArrival: () => undefined,
            onUnreadable: (error) => failed.push(error),
          });
          const { buffer, callback } = reader.onread;
          for (let at = 0, i = 0; at < stream.length; i++) {
            const into = (buffer as unknown as () => Buffer)();
            const count = stream.copy(into, 0, at, at + cuts[i % cuts.length]!);
            callback(count);
            at += count;
          }
          expect(failed).toEqual([]);
          expect(got.map(({ bytes }) => (typeof bytes === 'number' ? bytes : bytes.length))).toEqual(sizes);
          for (const [i, { first, bytes }] of got.entries()) {
            expect(first).toBe(i + 1);
            if (typeof bytes !== 'number') expect(bytes.every((byte) => byte === i + 1)).toBe(true);
          }
        },
      ),
    );
  });

  const ignored = { frame: () => undefined, oversized: () => undefined };

  it('passes over frames above the limit, and keeps their beginning only', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 9000 }), { minLength: 1, maxLength: 20 }),
        (sizes, cuts) => {
          const stream = Buffer.concat(sizes.map((size, i) => frame(Buffer.alloc(size, i + 1))));
          const got: string[] = [];
          const assembler = new FrameAssembler(5000, {
            frame: (buffer, start, end) => got.push(`${buffer[start]} ${end - start}`),
            oversized: (buffer, start, end, length) => {
              expect(end - start).toBeLessThanOrEqual(16);
              got.push(`${buffer[start]} ${length}`);
            },
          });
          for (let at = 0, i = 0; at < stream.length; i++) {
            const size = cuts[i % cuts.length]!;
            assembler.push(stream.subarray(at, at + size));
            at += size;
          }
          expect(got).toEqual(sizes.map((size, i) => `${i + 1} ${size}`));
        },
      ),
    );
  });

  it('holds no more than a few times what has come, whatever length was announced', () => {
    const assembler = new FrameAssembler(1 << 30, ignored);
    const before = process.memoryUsage().arrayBuffers;
    assembler.push(Buffer.concat([int32(1 << 29), Buffer.alloc(1000)]));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20);
    const strict = new FrameAssembler(1000, ignored);
    expect(() => strict.push(int32(0))).toThrow(expect.objectContaining({ code: 'ERR_CORRUPTION' }));
  });
});
