/**
 * Protocol buffer messages from tables of fields: `message({ port: required(uint32(2)), … })` reads and writes a message and has its
 * TypeScript type. The messages of the cell path are written by hand instead.
 */

import { ProtocolError } from '../rpc/errors.js';
import { ProtoReader } from './proto-reader.js';
import { ProtoWriter, tagOf, WireType } from './proto-writer.js';

type Kind =
  | 'uint32'
  | 'int32'
  | 'uint64'
  | 'int64'
  | 'big'
  | 'bool'
  | 'bytes'
  | 'string'
  | 'float'
  | 'message';
type Label = 'optional' | 'required' | 'repeated';

/** A field: number, type, label. `T` is the type of one value. */
export interface Field<T, L extends Label> {
  readonly number: number;
  readonly kind: Kind;
  readonly label: L;
  readonly packed: boolean;
  readonly codec: MessageCodec<T> | undefined;
}

/** Reads and writes one type of message. */
export interface MessageCodec<T> {
  readonly name: string;
  write(writer: ProtoWriter, value: T): void;
  /** Reads up to the reader's end. @throws ProtocolError on broken bytes or a missing required field. */
  read(reader: ProtoReader): T;
}

// biome-ignore lint/suspicious/noExplicitAny: a table of fields of many types; each keeps its own
type Shape = Record<string, Field<any, Label>>;
type ValueOf<F> = F extends Field<infer T, Label> ? T : never;
type KeysOf<S extends Shape, L extends Label> = {
  [K in keyof S]: S[K] extends Field<infer _T, L> ? K : never;
}[keyof S];

/** The object type of a message. Absent fields are undefined; repeated fields are arrays. */
type MessageOf<S extends Shape> = {
  [K in KeysOf<S, 'required'>]: ValueOf<S[K]>;
} & {
  [K in KeysOf<S, 'optional'>]?: ValueOf<S[K]> | undefined;
} & {
  [K in KeysOf<S, 'repeated'>]?: readonly ValueOf<S[K]>[] | undefined;
};

/** The type that a codec reads. */
export type TypeOf<C> = C extends MessageCodec<infer T> ? T : never;

function scalar<T>(kind: Kind): (number: number) => Field<T, 'optional'> {
  return (number) => ({ number, kind, label: 'optional', packed: false, codec: undefined });
}

export const uint32 = scalar<number>('uint32');
/** Also for enums. */
export const int32 = scalar<number>('int32');
/** A 64-bit field without negative values; above 2^53-1 it is an error. */
export const uint64 = scalar<number>('uint64');
/** A signed 64-bit field within ±2^53. */
export const int64 = scalar<number>('int64');
/** A 64-bit field of any value, unsigned. */
export const bigUint64 = scalar<bigint>('big');
export const bool = scalar<boolean>('bool');
export const bytes = scalar<Uint8Array>('bytes');
export const string = scalar<string>('string');
export const float = scalar<number>('float');

export function nested<T>(number: number, codec: MessageCodec<T>): Field<T, 'optional'> {
  return { number, kind: 'message', label: 'optional', packed: false, codec };
}

export function required<T>(field: Field<T, 'optional'>): Field<T, 'required'> {
  return { ...field, label: 'required' };
}

export function repeated<T>(field: Field<T, 'optional'>): Field<T, 'repeated'> {
  return { ...field, label: 'repeated' };
}

/** A packed repeated number. The unpacked form is read, too. */
export function packed<T>(field: Field<T, 'optional'>): Field<T, 'repeated'> {
  return { ...field, label: 'repeated', packed: true };
}

/** Defines a message with these fields. */
export function message<S extends Shape>(name: string, shape: S): MessageCodec<MessageOf<S>> {
  return new TableCodec(name, shape) as unknown as MessageCodec<MessageOf<S>>;
}

interface NamedField extends Field<unknown, Label> {
  readonly key: string;
  readonly tag: number;
}

type Values = Record<string, unknown>;

class TableCodec implements MessageCodec<Values> {
  /** In the order of their numbers. */
  private readonly fields: readonly NamedField[];
  private readonly byNumber = new Map<number, NamedField>();

  constructor(
    readonly name: string,
    shape: Shape,
  ) {
    this.fields = Object.entries(shape)
      .map(([key, field]) => ({
        ...field,
        key,
        tag: tagOf(field.number, field.packed ? WireType.Bytes : wireTypeOf(field.kind)),
      }))
      .sort((a, b) => a.number - b.number);
    for (const field of this.fields) this.byNumber.set(field.number, field);
  }

  write(writer: ProtoWriter, values: Values): void {
    for (let i = this.fields.length - 1; i >= 0; i--) {
      const field = this.fields[i]!;
      const value = values[field.key];
      if (value === undefined) continue;
      if (field.label !== 'repeated') {
        writeValue(writer, field, value);
        continue;
      }
      const list = value as readonly unknown[];
      if (field.packed) writePacked(writer, field, list);
      else for (let at = list.length - 1; at >= 0; at--) writeValue(writer, field, list[at]);
    }
  }

  read(reader: ProtoReader): Values {
    const values: Values = {};
    for (const field of this.fields) values[field.key] = undefined;
    while (!reader.done) {
      const tag = reader.varint();
      const field = this.byNumber.get(Math.floor(tag / 8));
      if (field === undefined) {
        reader.skip(tag);
      } else if (field.label !== 'repeated') {
        this.checkWireType(field, tag);
        values[field.key] = readValue(reader, field);
      } else {
        values[field.key] ??= [];
        this.readRepeated(reader, field, tag, values[field.key] as unknown[]);
      }
    }
    for (const field of this.fields) {
      if (field.label === 'required' && values[field.key] === undefined) {
        throw new ProtocolError(`A ${this.name} of the server lacks its field ${field.key}.`);
      }
    }
    return values;
  }

  private readRepeated(reader: ProtoReader, field: NamedField, tag: number, list: unknown[]): void {
    const isPacked = (tag & 7) === WireType.Bytes && wireTypeOf(field.kind) !== WireType.Bytes;
    if (!isPacked) {
      this.checkWireType(field, tag);
      reader.charge();
      list.push(readValue(reader, field));
      return;
    }
    const outer = reader.enter();
    while (!reader.done) {
      reader.charge();
      list.push(readValue(reader, field));
    }
    reader.leave(outer);
  }

  private checkWireType(field: NamedField, tag: number): void {
    if ((tag & 7) !== wireTypeOf(field.kind)) {
      throw new ProtocolError(`Field ${field.key} of a ${this.name} has the wire type ${tag & 7}.`);
    }
  }
}

function wireTypeOf(kind: Kind): number {
  switch (kind) {
    case 'bytes':
    case 'string':
    case 'message':
      return WireType.Bytes;
    case 'float':
      return WireType.Fixed32;
    default:
      return WireType.Varint;
  }
}

function writePacked(writer: ProtoWriter, field: NamedField, list: readonly unknown[]): void {
  if (list.length === 0) return;
  const mark = writer.mark();
  for (let i = list.length - 1; i >= 0; i--) writeBare(writer, field, list[i]);
  writer.endMessage(field.tag, mark);
}

function writeValue(writer: ProtoWriter, field: NamedField, value: unknown): void {
  if (field.kind === 'message') {
    const mark = writer.mark();
    field.codec!.write(writer, value);
    writer.endMessage(field.tag, mark);
    return;
  }
  writeBare(writer, field, value);
  writer.varint(field.tag);
}

function writeBare(writer: ProtoWriter, field: NamedField, value: unknown): void {
  switch (field.kind) {
    case 'bytes':
      writer.raw(value as Uint8Array);
      writer.varint((value as Uint8Array).length);
      return;
    case 'string': {
      const text = Buffer.from(value as string, 'utf8');
      writer.raw(text);
      writer.varint(text.length);
      return;
    }
    case 'bool':
      writer.byte(value === true ? 1 : 0);
      return;
    case 'big':
      writer.bigVarint(value as bigint);
      return;
    case 'float': {
      const four = Buffer.allocUnsafe(4);
      four.writeFloatLE(value as number);
      writer.raw(four);
      return;
    }
    default:
      writer.signedVarint(value as number);
  }
}

function readValue(reader: ProtoReader, field: NamedField): unknown {
  switch (field.kind) {
    case 'uint32':
      return reader.uint32();
    case 'int32':
      return reader.int32();
    case 'uint64':
      return reader.varint();
    case 'int64':
      return reader.signedVarint();
    case 'big':
      return reader.bigVarint();
    case 'bool':
      return reader.bool();
    case 'float':
      return reader.float();
    case 'bytes':
      return reader.bytes();
    case 'string':
      return reader.string();
    case 'message': {
      const outer = reader.enter();
      const value = field.codec!.read(reader);
      reader.leave(outer);
      return value;
    }
  }
}

/** Encodes one message. */
export function encodeMessage<T>(codec: MessageCodec<T>, value: T): Uint8Array {
  const writer = new ProtoWriter(256);
  codec.write(writer, value);
  return Uint8Array.from(writer.view());
}

/** Decodes one message that takes all of `data`. */
export function decodeMessage<T>(
  codec: MessageCodec<T>,
  data: Uint8Array,
  position = 0,
  end = data.length,
): T {
  return codec.read(new ProtoReader(data, position, end));
}

/** A message without fields. */
export const Empty = message('Empty', {});
