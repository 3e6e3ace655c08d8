/** The message `Result` of HBase's `Client.proto` with its cells, and its key. */

import { CorruptionError } from '../../errors.js';
import { type Cell, CellWithTtl, Result } from '../../table/index.js';
import { ByteBuilder, ByteParser, cellOf, writeTtlTag } from '../writable.js';

/** Fields of `Result`: its cells, and two that say that the cells are elsewhere or incomplete. */
const CELL = 1;
const CELLS_ELSEWHERE = 2;
/** Fields of `Cell`. */
const Field = { row: 1, family: 2, qualifier: 3, timestamp: 4, type: 5, value: 6, tags: 7 } as const;

/** Builds records: keys, values and their lengths. */
export class RecordBuilder {
  readonly keys = new ByteBuilder(4096);
  readonly keyLengths = new ByteBuilder();
  readonly values = new ByteBuilder(65536);
  readonly valueLengths = new ByteBuilder();
  private readonly message = new ByteBuilder(4096);
  private readonly cell = new ByteBuilder();
  private readonly tag = new ByteBuilder();
  private readonly families = new Map<string, Uint8Array>();
  records = 0;

  /** Bytes added so far. */
  get size(): number {
    return this.keys.length + this.values.length;
  }

  clear(): void {
    for (const each of [this.keys, this.keyLengths, this.values, this.valueLengths]) each.clear();
    this.records = 0;
  }

  add({ row, cells }: Result): void {
    this.keys.int(row.length).bytes(row);
    this.keyLengths.vint(row.length + 4);
    this.message.clear();
    for (const cell of cells) this.message.bytesField(CELL, this.cellMessage(row, cell));
    const before = this.values.length;
    this.values.varint(this.message.length).bytes(this.message.view());
    this.valueLengths.vint(this.values.length - before);
    this.records++;
  }

  private cellMessage(row: Uint8Array, cell: Cell): Buffer {
    const message = this.cell;
    message.clear();
    message.bytesField(Field.row, row).bytesField(Field.family, this.familyBytes(cell.family));
    message.bytesField(Field.qualifier, cell.qualifier);
    message.numberField(Field.timestamp, cell.timestamp).numberField(Field.type, cell.type);
    message.bytesField(Field.value, cell.value);
    if (cell instanceof CellWithTtl) {
      this.tag.clear();
      writeTtlTag(this.tag, cell.ttl);
      message.bytesField(Field.tags, this.tag.view());
    }
    return message.view();
  }

  private familyBytes(family: string): Uint8Array {
    let bytes = this.families.get(family);
    if (bytes === undefined) {
      bytes = Buffer.from(family);
      this.families.set(family, bytes);
    }
    return bytes;
  }
}

/** The row of a record. @throws CorruptionError when key or value is malformed. */
export function resultOf(key: Buffer, value: Buffer): Result {
  const keyParser = new ByteParser(key);
  const row = keyParser.take(keyParser.int());
  const framed = new ByteParser(value);
  const length = framed.varint();
  if (keyParser.left > 0 || length !== framed.left)
    throw new CorruptionError('a record is not a row and its cells');
  const message = new ByteParser(framed.take(length));
  const cells: Cell[] = [];
  for (let field = message.field(); field !== undefined; field = message.field()) {
    if (field.number === CELLS_ELSEWHERE && field.value !== 0)
      throw new CorruptionError('cells of a row are missing');
    if (field.number === CELL && typeof field.value !== 'number') cells.push(cellOfMessage(field.value));
  }
  for (const cell of cells) {
    if (!row.equals(cell.row)) throw new CorruptionError('a cell has another row than its key');
  }
  return new Result(row, cells);
}

const NOTHING = Buffer.alloc(0);

function cellOfMessage(bytes: Buffer): Cell {
  const message = new ByteParser(bytes);
  const found = new Map<number, number | Buffer>();
  for (let field = message.field(); field !== undefined; field = message.field())
    found.set(field.number, field.value);
  const part = (number: number): Buffer => {
    const value = found.get(number) ?? NOTHING;
    if (typeof value === 'number') throw new CorruptionError('a cell has a number instead of bytes');
    return value;
  };
  const number = (field: number): number => {
    const value = found.get(field) ?? 0;
    if (typeof value !== 'number') throw new CorruptionError('a cell has bytes instead of a number');
    return value;
  };
  return cellOf({
    row: part(Field.row),
    family: part(Field.family).toString(),
    qualifier: part(Field.qualifier),
    timestamp: number(Field.timestamp),
    type: number(Field.type),
    value: part(Field.value),
    tags: part(Field.tags),
  });
}
