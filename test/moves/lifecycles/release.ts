/** What the releases of an entity declare, one after the other. */

import type { ColumnBuilder } from '../../../decorators/column-builder.js';
import { defineEntity, defineTable, upgrade } from '../../../decorators/index.js';
import { text } from '../../../src/codec/index.js';
import { part, recordType } from '../../../src/key/index.js';
import type { KeyedClass } from '../../../src/schema/entity-types.js';
import type { Random } from '../../query/model/random.js';

/** What is stored of an entity. */
export interface Row {
  /** Columns by their names. */
  readonly columns: Readonly<Record<string, string>>;
  /** Entries of its Map. */
  readonly entries: ReadonlyMap<string, string>;
  /** When it ends by itself, in milliseconds; undefined: never. */
  readonly end: number | undefined;
}

export const TABLE = 'lives';
export const COLUMNS = ['p', 'q', 'r'];
export const MAP = 'm';
export const FAMILIES = ['d', 'e', 'f'];

interface Upgrading {
  readonly from: number;
  readonly name: string;
  readonly place: string;
}

/** What is kept through a life. */
export interface LifeOptions {
  /** Whether the table has entities of several types. */
  readonly hasTypes: boolean;
  /** Whether rows may end by themselves, from some release on. */
  readonly mayEnd: boolean;
  readonly hasSummaries: boolean;
  /** Milliseconds that new rows live from the release on that lets rows end; undefined: those that a write gives them. */
  readonly life: number | undefined;
  /** The family that the marker is pinned to from the first release on. */
  readonly marker: string | undefined;
}

const families = { d: {}, e: {}, f: {} };

export class Release {
  order = [...COLUMNS, MAP];
  readonly places = new Map<string, string>();
  readonly was = new Map<string, readonly string[]>();
  readonly upgrades: Upgrading[] = [];
  readonly indexed = new Set<string>();
  readonly counted = new Set<string>();
  /** Whether rows are given a time to live. */
  ends = false;
  /** The other type of the table. */
  other: 'never was' | 'lives' | 'left out' | 'retired' = 'never was';
  version = 1;
  private next = 0;
  private marker: string | undefined;
  /** Where the marker stands since the first release. */
  private readonly home: string;

  constructor(
    private readonly random: Random,
    readonly options: LifeOptions,
  ) {
    for (const name of this.order) this.places.set(name, this.fresh(name));
    this.marker = options.marker;
    this.home = this.marker ?? this.familyOf(this.order[0]!);
  }

  /** Milliseconds that a new row lives that is given none. */
  get life(): number | undefined {
    return this.ends ? this.options.life : undefined;
  }

  private familyOf(name: string): string {
    return this.places.get(name)!.slice(0, 1);
  }

  private fresh(name: string): string {
    const family = this.random.pick(FAMILIES);
    return name === MAP ? `${family}:m${this.next++}.` : `${family}:c${this.next++}`;
  }

  /** What the next one says; what it makes of the rows that there are. */
  go(rows: Map<string, Row>): string {
    const { random } = this;
    const name = random.pick(COLUMNS);
    switch (random.below(10)) {
      case 0:
        this.order.sort(() => random.next() - 0.5);
        return `columns ${this.order.join()}`;
      case 1:
      case 2:
        return this.move(random.pick(this.order));
      case 3:
        return this.upgrade(name, rows);
      case 4:
        this.indexed.add(name);
        return `index of ${name}`;
      case 5:
        this.indexed.delete(name);
        return `no index of ${name}`;
      case 6:
        if (!this.options.hasSummaries) return 'the same';
        if (!this.counted.delete(name)) this.counted.add(name);
        return `${name} is ${this.counted.has(name) ? '' : 'not '}counted`;
      case 7:
        this.marker = this.marker === undefined ? this.home : this.options.marker;
        return `marker ${this.marker}`;
      case 8:
        this.ends = this.options.mayEnd;
        return this.ends ? 'rows may end' : 'the same';
      default:
        return this.changeOther();
    }
  }

  private move(name: string): string {
    if (this.upgrades.length > 0) return 'the same';
    this.was.set(name, [this.places.get(name)!, ...(this.was.get(name) ?? [])]);
    this.places.set(name, this.fresh(name));
    return `${name} moves`;
  }

  private upgrade(name: string, rows: Map<string, Row>): string {
    if (this.was.size > 0) return 'the same';
    this.upgrades.push({ from: this.version++, name, place: this.places.get(name)! });
    this.places.set(name, this.fresh(name));
    for (const [id, row] of rows) {
      const before = row.columns[name];
      if (before !== undefined) rows.set(id, { ...row, columns: { ...row.columns, [name]: `${before}!` } });
    }
    return `${name} is upgraded`;
  }

  private changeOther(): string {
    if (!this.options.hasTypes) return 'the same';
    if (this.other === 'lives') this.other = this.random.pick(['left out', 'retired', 'retired']);
    else if (this.other !== 'retired') this.other = 'lives';
    return `the other type: ${this.other}`;
  }

  /** The entity, and what else the table has. */
  declare(): { readonly thing: KeyedClass; readonly other: KeyedClass | undefined } {
    const { hasTypes } = this.options;
    const table = defineTable({ name: TABLE, families });
    const thing = defineEntity({
      name: 'Thing',
      table,
      ...(hasTypes && { recordType: 1 }),
      key: hasTypes ? [recordType(), part('id')] : [part('id')],
      ...(this.marker !== undefined && { marker: this.marker }),
      ...(this.life !== undefined && { ttl: this.life }),
      ...(this.version > 1 && { schemaVersion: this.version }),
      upgrades: this.upgrades.map(upgradeOf),
      columns: (c: ColumnBuilder<string>) => this.columnsOf(c),
      indexes: Object.fromEntries(
        [...this.indexed].map((name) => [`by_${name}`, { on: [part(name, text)] }]),
      ),
      summaries: Object.fromEntries(
        [...this.counted].map((name) => [`sum_${name}`, { by: [name], figures: { rows: 'count' } }]),
      ),
    } as never) as unknown as KeyedClass;
    const isDeclared = this.other === 'lives' || this.other === 'retired';
    const other = isDeclared ? this.declareOther(table) : undefined;
    return { thing, other };
  }

  private columnsOf(c: ColumnBuilder<string>): object {
    const columns = this.order.map((name) => {
      const was = this.was.get(name);
      const place = this.places.get(name) as 'd:c';
      const options = was === undefined ? {} : { was: was as never };
      return [
        name,
        name === MAP
          ? c.columns(place, { value: text, ...options })
          : c.column(place, text, options).optional(),
      ];
    });
    return { ...Object.fromEntries(columns), ...(this.ends && { life: c.ttl() }) };
  }

  private declareOther(table: unknown): KeyedClass {
    return defineEntity({
      name: 'Other',
      table,
      recordType: 2,
      retired: this.other === 'retired',
      key: [recordType(), part('id')],
      columns: (c: ColumnBuilder<string>) => ({ value: c.column('d:v' as never, text) }),
      indexes: { byValue: { on: [part('value', text)] } },
    } as never) as unknown as KeyedClass;
  }
}

function upgradeOf({ from, name, place }: Upgrading) {
  return upgrade(
    from,
    {
      old: (c: ColumnBuilder<string>) => ({ [name]: c.column(place as 'd:c', text).optional() }),
      sets: [name],
      writeBack: from % 2 === 0,
    } as never,
    ((old: Record<string, string | undefined>) => ({
      [name]: old[name] == null ? undefined : `${old[name]}!`,
    })) as never,
  );
}
