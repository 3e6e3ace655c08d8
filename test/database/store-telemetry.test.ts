/** OpenTelemetry on the embedded engine, behind the real API, and the figures of a store. */

import * as telemetry from '@opentelemetry/api';
import { afterEach, expect, test, vi } from 'vitest';
import { Column, Entity, Index, part, RowKey, Table } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { connect } from '../../src/database.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/index.js';
import { Served } from '../server/served.js';
import { Kept, Late } from './waiting-entities.js';

@Table({ name: 'ot_notes', families: { d: {} } })
class Notes {}

@Entity({ table: Notes })
@RowKey(part('id'))
class Note {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byTag: ['tag'] };
  id!: string;
  @Index('byTag') @Column('d:t', text) tag!: string;
}

interface SeenSpan {
  readonly name: string;
  readonly kind: number;
  readonly attributes: Record<string, unknown>;
  ended: number;
  exception?: Error;
}

type Read = (result: { observe(value: number, attributes?: object): void }) => void | Promise<void>;

/** A provider that writes down what it is told. */
function watch() {
  const spans: SeenSpan[] = [];
  const durations: Record<string, unknown>[] = [];
  const figures = new Map<string, { kind: string; read: Read }>();
  const tracer = {
    startSpan(name: string, given: { kind: number; attributes: Record<string, unknown> }) {
      const seen: SeenSpan = { name, kind: given.kind, attributes: { ...given.attributes }, ended: 0 };
      spans.push(seen);
      return {
        setAttribute: (key: string, value: unknown) => {
          seen.attributes[key] = value;
        },
        setStatus: () => undefined,
        recordException: (error: Error) => {
          seen.exception = error;
        },
        end: () => {
          seen.ended++;
        },
      };
    },
  };
  const figure = (kind: string) => (name: string) => ({
    addCallback: (read: Read) => figures.set(name, { kind, read }),
    removeCallback: () => figures.delete(name),
  });
  const meter = {
    createHistogram: (name: string) => ({
      record: (value: number, attributes: Record<string, unknown>) => {
        expect(value).toBeGreaterThan(0);
        durations.push({ name, ...attributes });
      },
    }),
    createObservableGauge: figure('gauge'),
    createObservableCounter: figure('counter'),
  };
  telemetry.trace.setGlobalTracerProvider({ getTracer: () => tracer as never });
  telemetry.metrics.setGlobalMeterProvider({ getMeter: () => meter as never });
  return { spans, durations, figures };
}

afterEach(() => {
  telemetry.trace.disable();
  telemetry.metrics.disable();
});

test('each operation has a span with its plan and rows, and a duration; failures have their error', async () => {
  const { spans, durations } = watch();
  const db = await openMemory({ entities: [Note], telemetry });
  const notes = db.repository(Note);
  await notes.insert({ id: 'a', tag: 'red' });
  await notes.insert({ id: 'a', tag: 'red' }).catch(() => undefined);
  await notes.by('byTag').find({ tag: 'red' }).all();
  await db.close();
  expect(spans.map(({ name, kind, ended }) => [name, kind, ended])).toEqual([
    ['insert ot_notes', telemetry.SpanKind.CLIENT, 1],
    ['insert ot_notes', telemetry.SpanKind.CLIENT, 1],
    ['all ot_notes', telemetry.SpanKind.CLIENT, 1],
  ]);
  expect(spans[0]!.attributes).toMatchObject({
    'db.system.name': 'rowan',
    'db.operation.name': 'insert',
    'db.collection.name': 'ot_notes',
    'rowan.entity': 'Note',
    'rowan.plan': 'point',
    'rowan.attempts': 1,
    'db.response.returned_rows': 1,
  });
  expect(spans[1]).toMatchObject({
    attributes: { 'error.type': 'ERR_CONFLICT' },
    exception: { code: 'ERR_CONFLICT' },
  });
  expect(spans[2]!.attributes).toMatchObject({ 'rowan.plan': 'range', 'rowan.index': 'byTag' });
  expect(durations).toHaveLength(3);
  expect(durations[1]).toMatchObject({ name: 'db.client.operation.duration', 'error.type': 'ERR_CONFLICT' });
});

test('figures of the store are read when they are asked for, and go with the database', async () => {
  const { figures } = watch();
  const db = await openMemory({ entities: [Note], telemetry });
  const read = (name: string): number => {
    let seen = Number.NaN;
    figures.get(name)!.read({ observe: (value) => (seen = value) });
    return seen;
  };
  expect([...figures.keys()].sort()).toEqual(
    db.engine
      .metrics()
      .map(({ name }) => name)
      .sort(),
  );
  for (const { name, kind } of db.engine.metrics()) expect(figures.get(name)!.kind).toBe(kind);
  await db.repository(Note).put({ id: 'a', tag: 'red' });
  expect(read('rowan.store.memstore.bytes')).toBeGreaterThan(0);
  expect(read('rowan.store.files')).toBe(0);
  await db.admin.flush('ot_notes');
  expect(read('rowan.store.files')).toBe(1);
  expect(read('rowan.store.flush.bytes')).toBeGreaterThan(0);
  await db.close();
  expect(figures.size).toBe(0);
});

test('what waits is read when it is asked for, once for all figures, on both engines', async () => {
  const { figures } = watch();
  const seen = async (): Promise<Record<string, number>> => {
    const values: Record<string, number> = {};
    await Promise.all(
      [...figures].map(([name, { read }]) => read({ observe: (value) => (values[name] = value) })),
    );
    return values;
  };
  const disk = new MemoryFileSystem();
  {
    await using db = await openMemory({ entities: [Late], disk });
    await db.repository(Late).putMany(['a', 'b'].map((id) => ({ id, color: 'red' })));
  }
  {
    await using db = await openMemory({ entities: [Late], disk, tables: 'ignore', telemetry });
    expect(await seen()).toMatchObject({ 'rowan.index.pending': 2, 'rowan.store.scanners': 0 });
    expect(figures.get('rowan.index.pending')!.kind).toBe('gauge');
    await db.index(Late, 'byColor').drain();
    expect(await seen()).toMatchObject({ 'rowan.index.pending': 0, 'rowan.index.pending.age': 0 });
    // Queues that cannot be read leave a gap.
    vi.spyOn(db['wiring'].features, 'backlog').mockRejectedValueOnce(new Error('no'));
    expect(Object.keys(await seen()).filter((name) => !name.startsWith('rowan.store.'))).toEqual([]);
  }
  expect(figures.size).toBe(0);
  await using served = await Served.start();
  {
    await using db = await connect({
      masters: [served.endpoint],
      entities: [Note],
      tables: 'create',
      telemetry,
    });
    const backlog = vi.spyOn(db['wiring'].features, 'backlog');
    const values = await seen();
    expect(backlog.mock.calls).toEqual([[1000]]);
    expect(Object.keys(values)).toEqual(expect.arrayContaining((await db.backlog()).map(({ name }) => name)));
    expect(values).toMatchObject({ 'rowan.index.unverified': 0, 'rowan.change.restarts': 0 });
    // Those of entities that are added later, from the collection after the next.
    await db.add(Kept);
    await seen();
    expect(await seen()).toMatchObject({ 'rowan.changes.open': 0 });
  }
  expect(figures.size).toBe(0);
});

test('what is not the API is refused before there is a store', async () => {
  await expect(openMemory({ entities: [Note], telemetry: {} as never })).rejects.toThrow(
    '@opentelemetry/api',
  );
});
