import { describe, expect, it } from 'vitest';
import {
  Column,
  defineEntity,
  defineTable,
  Entity,
  part,
  RowKey,
  recordType,
  salt,
} from '../../decorators/index.js';
import { float64, text } from '../../src/codec/index.js';
import { compileSchema } from '../../src/mapper/index.js';

const table = defineTable({ name: 'shapes', families: { d: {} } });

@RowKey(salt(8), part('drawing'), recordType(), part('id'))
abstract class Shape {
  declare static readonly key: ['drawing', 'id'];
  drawing!: string;
  id!: string;
  @Column('d:c', text) color!: string;
  abstract area(): number;
}

@Entity({ table, recordType: 1 })
class Circle extends Shape {
  @Column('d:r', float64) radius!: number;
  area(): number {
    return Math.PI * this.radius ** 2;
  }
}

@Entity({ table, recordType: 2 })
class Box extends Shape {
  @Column('d:w', float64) width!: number;
  @Column('d:h', float64) height!: number;
  area(): number {
    return this.width * this.height;
  }
}

describe('single-table inheritance', () => {
  const schema = compileSchema([Circle, Box]);

  it('takes the row key and the columns of the base class', () => {
    expect(schema.entity(Box).columns.map(({ property }) => property)).toEqual(['color', 'height', 'width']);
    expect(schema.entity(Circle).key.signature).toContain('recordType(1)');
    expect(schema.entity(Box).key.signature).toContain('recordType(2)');
  });

  it('tells which entity a row is of, and the entities of a base class', () => {
    const circle = schema.entity(Circle);
    const box = schema.entity(Box);
    const key = { drawing: 'd', id: 'i' };
    expect(schema.entityOfRow('shapes', circle.mapper.rowOf(key))).toBe(circle);
    expect(schema.entityOfRow('shapes', box.mapper.rowOf(key))).toBe(box);
    expect(schema.entityOfRow('shapes', Uint8Array.of(1, 2, 3))).toBeUndefined();
    expect(() => schema.entityOfRow('shapes', undefined as never)).toThrow(
      'the bytes of a row, not "shapes" and undefined',
    );
    expect(() => schema.entityOfRow(undefined as never, Uint8Array.of(1))).toThrow(
      'not undefined and 1 bytes',
    );
    expect(schema.entityOfRow('other', box.mapper.rowOf(key))).toBeUndefined();
    expect(schema.subtypes(Shape)).toEqual([circle, box]);
    expect(schema.subtypes(Circle)).toEqual([circle]);
  });
});

describe('record types in one table', () => {
  const mixed = defineTable({ name: 'mixed', families: { d: {} } });

  it('are refused where they stand so that a row of one can be taken for one of the other', () => {
    const First = defineEntity({
      name: 'First',
      table: mixed,
      recordType: 1,
      key: [recordType(), part('id', text)],
      columns: (c) => ({ v: c.column('d:v', text) }),
    });
    const Second = defineEntity({
      name: 'Second',
      table: mixed,
      recordType: 2,
      key: [part('id', text), recordType(), part('no', text)],
      columns: (c) => ({ v: c.column('d:v', text) }),
    });
    expect(() => compileSchema([First, Second])).toThrow(
      /Second: Rows of it and of First in Table "mixed" can be taken for one another/,
    );
    expect(compileSchema([Second]).entities).toHaveLength(1);
  });
});
