/** Avro schemas in a table of the database that they describe. */

import { fromHex, toHex } from '../../bytes/index.js';
import {
  CheckAndMutate,
  Get,
  Put,
  type Table,
  type TableDescriptor,
  tableDescriptor,
} from '../../table/index.js';
import { text } from '../scalars.js';
import type { SchemaStore } from './schema-store.js';

const FAMILY = 's';
const JSON_COLUMN = Buffer.from('json', 'latin1');
const EMPTY = new Uint8Array(0);

/** The table that holds schemas; create it once. */
export function schemaTableDescriptor(name = 'rowan_schemas'): TableDescriptor {
  return tableDescriptor(name, { [FAMILY]: {} });
}

/**
 * Row `f` and the 8 bytes of a fingerprint: column `s:json`, the schema. Row `v` and a subject: a column for each
 * fingerprint, whose timestamp says when the subject was first written with it.
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

  /** The schema is there before any subject names it: a reader never finds a name without a schema. */
  async add(subject: string, fingerprint: string, schema: string): Promise<void> {
    await this.putOnce(schemaRow(fingerprint), JSON_COLUMN, text.encode(schema));
    await this.putOnce(subjectRow(subject), fromHex(fingerprint), EMPTY);
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
