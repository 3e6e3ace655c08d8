/** What the blocks of pages take as given, so that each compiles: by the name of the page, or of the page and the block's number. */

const SHOP = `
@Table({ name: 'shop', families: { d: {} } })
class Shop {}

@Entity({ table: Shop })
class Customer {
  static readonly key = rowKey(part('customerId'));
  customerId!: string;
}

@Entity({ table: Shop })
class Order {
  static readonly key = rowKey(part('orderNo', uint32));
  orderNo!: number;
}
`;
/** Other entities of a shop, with an id each. */
const RECORDS = `
class Order {
  static readonly key = rowKey(part('id'));
  id!: string;
}
class Customer {
  static readonly key = rowKey(part('id'));
  id!: string;
  @Column('d:o', text) lastOrder?: string | null;
}
class Stock {
  static readonly key = rowKey(part('id'));
  id!: string;
  @Column('d:l', int32) left!: number;
}
`;
const DB = 'declare const db: Database;\n';
const EMBEDDED_DB = 'declare const db: Awaited<ReturnType<typeof open>>;\n';
const HBASE_DB = 'declare const db: Awaited<ReturnType<typeof connect>>;\n';
const OPENED = `${SHOP}declare const path: string, entities: readonly [typeof Customer, typeof Order];\n`;

const NOTE = `
@Entity({ table: { name: 'notes', families: { d: {} } } })
class Note {
  static readonly key = rowKey('id');
  id!: string;
}
`;

const HOURS = `
class SeriesHour {
  static readonly key = rowKey(part('metric'), timeBucket('hour', '1h'), part('host'));
  metric!: string;
  hour!: Date;
  host!: string;
  @Packed('t:', { part: 'hour', value: float64 }) points!: Map<number, number | null>;
}
const hours = db.repository(SeriesHour);
`;

const VISITS = `
export class Visit {
  static readonly key = rowKey(part('day', text), part('id', text));
  day!: string;
  id!: string;
  @Column('d:p', text) page!: string;
}
export class Page {
  static readonly key = rowKey(part('id', text));
  id!: string;
  @Column('d:s', text) section!: string;
}
export class PageVisits {
  static readonly key = rowKey(part('page', text));
  page!: string;
  @Column('d:v', uint32) visits!: number;
}
export class SectionVisits {
  static readonly key = rowKey(part('section', text));
  section!: string;
  @Column('d:v', uint32) visits!: number;
}
`;
const ENTITIES_FILE = `// @filename: entities.ts
import { Column, part, rowKey, text, uint32 } from 'rowan-orm';
${VISITS}// @filename: index.ts
`;

const REKEY = `
@Table({ name: 'shop', families: { d: {} } })
class Shop {}

abstract class OrderColumns {
  customerId!: string;
  id!: string;
}

@Entity({ table: Shop, recordType: 3 })
class Order extends OrderColumns {
  static readonly key = rowKey(part('id'), recordType());
}
declare const path: string, onProgress: (progress: object) => void;
`;

const NEW_KEY = `${REKEY}@Entity({ table: Shop, recordType: 7 })
class OrderV2 extends OrderColumns {
  static readonly key = rowKey(part('customerId'), recordType(), part('id'));
}
${DB}`;

const QUERIES = `
declare const january: Date, february: Date;
declare const key: KeyOf<typeof Order>, other: KeyOf<typeof Order>;
declare const one: Order, two: Order;
declare const request: { readonly cursor?: string };
declare const path: string, entities: readonly (typeof Order)[];
const query = orders.find({ customerId: 'c1' });
`;

export const GIVEN: Readonly<Record<string, string>> = {
  backup: DB,
  'backup#2': EMBEDDED_DB,
  'backup#3': EMBEDDED_DB,
  bigtable: SHOP,
  docker: NOTE,
  encryption: SHOP,
  figures: QUERIES,
  'figures#2': HOURS,
  hbase: SHOP,
  'hbase-admin': SHOP,
  'hbase-admin#2': `import { AsyncLocalStorage } from 'node:async_hooks';\n${SHOP}const traces = new AsyncLocalStorage<string>();\n`,
  'hbase-security': `${SHOP}${HBASE_DB}declare const kerberosDb: typeof db, masters: readonly string[];\n`,
  'job-processes': ENTITIES_FILE,
  'jobs#1': `${VISITS}${DB}const visits = db.repository(Visit), pageVisits = db.repository(PageVisits);\n`,
  'jobs#2': ENTITIES_FILE,
  'jobs#3': ENTITIES_FILE,
  observing: `${OPENED}declare const statistics: { record(name: string, milliseconds: number): void };\n`,
  'observing#2': DB,
  'observing#5': DB,
  'operations#3': "import { createServer } from 'node:http';\n",
  'operations#4': RECORDS,
  pages: QUERIES,
  queries: QUERIES,
  'queries#1': '',
  rekey: REKEY,
  'rekey#2': `${NEW_KEY}declare const position: string;
declare function handle(commit: object): Promise<void>;
`,
  'rekey-on-hbase': NEW_KEY,
  migrations: OPENED,
  sequences: `${DB}
@Entity({ table: { name: 'invoices', families: { d: {} } } })
class Invoice {
  static readonly key = rowKey(part('tenantId'), part('number', uint32));
  tenantId!: string;
  number!: number;
  @Column('d:c', text) customer!: string;
}
`,
  'columns#2': `${DB}@Table({ name: 'crm', families: { d: {} } })\nclass Crm {}\n`,
  'columns#3': `${DB}@Table({ name: 'crm', families: { d: {} } })
class Crm {}
declare namespace Temporal {
  class Instant {
    static from(text: string): Instant;
    static fromEpochMilliseconds(milliseconds: number): Instant;
    static fromEpochNanoseconds(nanoseconds: bigint): Instant;
    readonly epochMilliseconds: number;
    readonly epochNanoseconds: bigint;
  }
  class PlainTime {
    static from(text: string): PlainTime;
    readonly hour: number;
    readonly minute: number;
    readonly second: number;
    readonly millisecond: number;
    readonly microsecond: number;
    readonly nanosecond: number;
  }
  class PlainDate {
    static from(text: string): PlainDate;
    readonly calendarId: string;
  }
  class PlainDateTime extends PlainTime {
    static override from(text: string): PlainDateTime;
    readonly calendarId: string;
  }
}
`,
  schema: OPENED,
  'schema#2': DB,
  tools: EMBEDDED_DB + SHOP,
  'schema-columns#3': `${SHOP}abstract class InvoiceColumns {
  static readonly key = rowKey(part('id'), recordType());
  id!: string;
}
`,
  'schema-rows': "@Table({ name: 'crm', families: { d: {} } })\nclass Crm {}\n",
  server: OPENED,
  'time#1': `
declare const db: Database, reading: { id: string }, measuredAt: number;
class Reading {
  static readonly key = rowKey(part('id'));
  id!: string;
}
const readings = db.repository(Reading);
`,
  'transactions#1': `${RECORDS}${DB}declare const order: Order;\n`,
  writes: QUERIES,
};

/** Blocks without a program, by their numbers on a page. */
export const WITHOUT_PROGRAM: Readonly<Record<string, readonly number[]>> = {
  // Programs of test/toolchain.
  bundling: [1],
  nestjs: [1, 2, 3, 4, 5, 6],
  frameworks: [1, 2, 3, 4, 5, 6],
  // Misuses, which do not compile.
  'getting-started': [2],
  // Programs of test/toolchain with packages that are not installed here.
  testing: [4],
  validation: [2],
  // Excerpts of classes.
  relations: [8],
  summaries: [2],
  // Two ways to write one declaration.
  observing: [1],
  README: [1],
};
