import { EMPTY_BYTES, fromHex, toHex } from '../../bytes/index.js';
import { SchemaError } from '../../errors.js';
import {
  CheckAndMutate,
  Get,
  ownTableDescriptor,
  Put,
  type Table,
  type TableDescriptor,
} from '../../table/index.js';
import { text } from '../scalars.js';
import { incompatibilities } from './compatibility.js';
import { fingerprintOf, knownSchema, learnSchema, UnknownSchemaError } from './fingerprint.js';
import type { AvroSchema } from './schema.js';

// — Stores the schemas of Avro columns, and checks that a new schema is compatible before anything is written with it.

/** Stores schemas by fingerprint (16 hex digits), and the fingerprints that a subject (a column) was written with. */
export interface SchemaStore {
  /** The schema as JSON text, or undefined. */
  get(fingerprint: string): Promise<string | undefined>;
  /** The fingerprints of a subject, oldest first. */
  versions(subject: string): Promise<readonly string[]>;
  /** Adds a schema to a subject; does nothing if it is there already. */
  add(subject: string, fingerprint: string, schema: string): Promise<void>;
}

/**
 * The compatibility required of a changed schema with the schemas that a column was written with: `backward` - it can
 * read all their values; `forward` - programs with one of those schemas can read its values; `full` - both.
 */
export type CompatibilityLevel = 'none' | 'backward' | 'forward' | 'full';

/** One reason to refuse a changed schema. */
export interface EvolutionProblem {
  readonly subject: string;
  /** The fingerprint of the stored schema concerned. */
  readonly fingerprint: string;
  /** `backward`: the new schema cannot read values of the stored one; `forward`: the reverse. */
  readonly direction: 'backward' | 'forward';
  readonly path: string;
  readonly message: string;
}

/** The schemas of one database. */
export class AvroRegistry {
  /** Subjects and schemas known to be stored. */
  private readonly stored = new Set<string>();
  private readonly loading = new Map<string, Promise<void>>();

  constructor(private readonly store: SchemaStore) {}

  /**
   * Loads the schema of a fingerprint for every codec of the process.
   * @throws SchemaError when the store does not have it either.
   */
  load(fingerprint: string): Promise<void> {
    if (knownSchema(fingerprint) !== undefined) return Promise.resolve();
    const running = this.loading.get(fingerprint) ?? this.fetch(fingerprint);
    this.loading.set(fingerprint, running);
    return running.finally(() => this.loading.delete(fingerprint));
  }

  /** If decoding failed because of an unknown schema, loads that schema; undefined for any other error. */
  recover(error: unknown): Promise<void> | undefined {
    for (let cause = error; cause instanceof Error; cause = cause.cause) {
      if (cause instanceof UnknownSchemaError) return this.load(cause.fingerprint);
    }
    return undefined;
  }

  private async fetch(fingerprint: string): Promise<void> {
    const schema = await this.schemaOf(fingerprint);
    if (schema === undefined) {
      throw new SchemaError(
        `The Avro schema ${fingerprint} is not in the schema store, so the values written with it cannot be read. Register it: every writer must use the same store.`,
      );
    }
  }

  /** The stored text is needed: a known schema of the same fingerprint may differ in the scale of decimals. */
  private async schemaOf(fingerprint: string): Promise<AvroSchema | undefined> {
    const text = await this.store.get(fingerprint);
    if (text === undefined) return undefined;
    const schema = JSON.parse(text) as AvroSchema;
    const actual = learnSchema(schema);
    if (actual !== fingerprint) {
      throw new SchemaError(
        `The schema store is damaged: the schema under ${fingerprint} has the fingerprint ${actual}.`,
      );
    }
    return schema;
  }

  /**
   * Every reason why `level` forbids writing `subject` with `schema`; empty if it is allowed. Loads the stored schemas.
   */
  async problems(
    subject: string,
    schema: AvroSchema,
    level: CompatibilityLevel,
  ): Promise<EvolutionProblem[]> {
    const own = JSON.stringify(schema);
    const problems: EvolutionProblem[] = [];
    for (const fingerprint of await this.store.versions(subject)) {
      const stored = await this.schemaOf(fingerprint);
      if (stored === undefined) {
        throw new SchemaError(
          `The schema store is damaged: "${subject}" has schema ${fingerprint}, which is not in it.`,
        );
      }
      if (JSON.stringify(stored) === own) continue;
      const add = (direction: 'backward' | 'forward', reader: AvroSchema, writer: AvroSchema) => {
        for (const { path, message } of incompatibilities(reader, writer)) {
          problems.push({ subject, fingerprint, direction, path, message });
        }
      };
      if (level === 'backward' || level === 'full') add('backward', schema, stored);
      if (level === 'forward' || level === 'full') add('forward', stored, schema);
    }
    return problems;
  }

  /**
   * Loads the schemas that a subject was written with. `heir`: a subject to which its values are moved or copied, which is then
   * registered with them too.
   */
  async loadAll(subject: string, heir?: string): Promise<void> {
    const known = heir === undefined ? [] : await this.store.versions(heir);
    for (const fingerprint of await this.store.versions(subject)) {
      const schema = await this.schemaOf(fingerprint);
      if (schema === undefined || heir === undefined || known.includes(fingerprint)) continue;
      await this.store.add(heir, fingerprint, (await this.store.get(fingerprint))!);
    }
  }

  /** Whether the subject is registered with exactly this schema. */
  async has(subject: string, schema: AvroSchema): Promise<boolean> {
    return (await this.store.versions(subject)).includes(toHex(fingerprintOf(schema)));
  }

  /**
   * Registers the schema with which a subject is written from now on.
   * @throws SchemaError with every incompatibility that `level` (default `backward`) does not allow.
   */
  async register(subject: string, schema: AvroSchema, level: CompatibilityLevel = 'backward'): Promise<void> {
    const fingerprint = learnSchema(schema);
    const mark = `${subject}\n${JSON.stringify(schema)}`;
    if (this.stored.has(mark)) return;
    const problems = await this.problems(subject, schema, level);
    if (problems.length > 0) {
      const lines = problems.map(
        (one) => `${one.direction} to ${one.fingerprint} at ${one.path}: ${one.message}`,
      );
      throw new SchemaError(
        `The Avro schema of "${subject}" is not ${level} compatible with what is stored: ${lines.join('; ')}. Give added fields a default, keep old names as aliases, or choose another level.`,
        lines,
        { details: { subject, level } },
      );
    }
    // What is registered is not written again: a program may be allowed to read only.
    if (!(await this.has(subject, schema))) {
      await this.store.add(subject, fingerprint, JSON.stringify(schema));
    }
    this.stored.add(mark);
  }
}

/** A store in memory, for tests and for programs that keep their schemas elsewhere. */
export class MemorySchemaStore implements SchemaStore {
  private readonly schemas = new Map<string, string>();
  private readonly subjects = new Map<string, string[]>();

  async get(fingerprint: string): Promise<string | undefined> {
    return this.schemas.get(fingerprint);
  }

  async versions(subject: string): Promise<readonly string[]> {
    return [...(this.subjects.get(subject) ?? [])];
  }

  async add(subject: string, fingerprint: string, schema: string): Promise<void> {
    this.schemas.set(fingerprint, schema);
    const versions = this.subjects.get(subject) ?? [];
    if (!versions.includes(fingerprint)) this.subjects.set(subject, [...versions, fingerprint]);
  }
}

// — Stores Avro schemas in a table of the same database.

const FAMILY = 's';
const JSON_COLUMN = Buffer.from('json', 'latin1');
/** The descriptor of the table that holds schemas. Create the table once. */
export function schemaTableDescriptor(name = 'rowan_schemas'): TableDescriptor {
  return ownTableDescriptor(name, FAMILY);
}

/**
 * Row `f` + the 8 bytes of a fingerprint: column `s:json`, the schema. Row `v` + a subject: one column for each
 * fingerprint, whose timestamp is the time when the subject was first written with it.
 */
export class TableSchemaStore implements SchemaStore {
  constructor(private readonly table: Table) {}

  async get(fingerprint: string): Promise<string | undefined> {
    const result = await this.table.get(new Get(schemaRow(fingerprint)).addFamily(FAMILY));
    const value = result.getValue(FAMILY, JSON_COLUMN);
    return value === undefined ? undefined : text.decode(value);
  }

  async versions(subject: string): Promise<readonly string[]> {
    const result = await this.table.get(new Get(subjectRow(subject)).addFamily(FAMILY));
    return [...result.cells]
      .sort((a, b) => a.timestamp - b.timestamp)
      .map(({ qualifier }) => toHex(qualifier));
  }

  /** Stores the schema before a subject refers to it, so that readers never find a reference without a schema. */
  async add(subject: string, fingerprint: string, schema: string): Promise<void> {
    await this.putOnce(schemaRow(fingerprint), JSON_COLUMN, text.encode(schema));
    await this.putOnce(subjectRow(subject), fromHex(fingerprint), EMPTY_BYTES);
  }

  private async putOnce(row: Uint8Array, column: Uint8Array, value: Uint8Array): Promise<void> {
    const put = new Put(row).addColumn(FAMILY, column, value);
    await this.table.checkAndMutate(CheckAndMutate.ifNotExists(FAMILY, column, put));
  }
}

function schemaRow(fingerprint: string): Uint8Array {
  return Buffer.concat([Buffer.from('f', 'latin1'), fromHex(fingerprint)]);
}

function subjectRow(subject: string): Uint8Array {
  return Buffer.concat([Buffer.from('v', 'latin1'), text.encode(subject)]);
}
