/**
 * What a table's metadata keeps of the entities in it, so that a program whose declarations read other bytes than were
 * written is told so when it opens the table.
 *
 * One value for each record type: `rowan.record.<n>` (`rowan.record` for entities without one) => the key's layout,
 * the marker and each column with its codec, separated by `; `.
 */

import { schemaSignature } from '../schema/signature.js';
import type { EntitySchema, TableSchema } from '../schema/types.js';
import type { TableDescriptor } from '../table/index.js';

const PREFIX = 'rowan.record';
const SEPARATOR = '; ';

/** The descriptor of a new table, with its stamp. */
export function stampedDescriptor(table: TableSchema): TableDescriptor {
  const { descriptor } = table;
  return Object.freeze({
    ...descriptor,
    metadata: Object.freeze({ ...descriptor.metadata, ...stampOf(table) }),
  });
}

/** The metadata that describes the table's entities. */
export function stampOf(table: TableSchema): Record<string, string> {
  return Object.fromEntries(table.entities.map((entity) => [stampKey(entity), stampText(entity)]));
}

function stampKey(entity: EntitySchema): string {
  const { recordType } = entity.key;
  return recordType === undefined ? PREFIX : `${PREFIX}.${recordType}`;
}

function stampText(entity: EntitySchema): string {
  return schemaSignature({ entities: [entity] }).replaceAll('\n', SEPARATOR);
}

/** How declarations contradict what the table was written with; each a sentence. Columns may be added and left out. */
export function stampProblems(table: TableSchema, live: TableDescriptor): string[] {
  const problems: string[] = [];
  for (const entity of table.entities) {
    const written = live.metadata[stampKey(entity)];
    if (written === undefined) continue;
    const before = readStamp(written);
    const key = before.get('key');
    if (key !== undefined) before.set('key', withTextCodec(key));
    const now = readStamp(stampText(entity));
    for (const [name, value] of now) {
      const old = before.get(name);
      if (old === undefined || old === value) continue;
      problems.push(
        name === 'key'
          ? `${entity.name}: its row keys were written as [${old}] and are now declared as [${value}]; rows written before would not be found. Restore @RowKey, or copy the rows into a new table.`
          : `${entity.name}: ${name} was written as ${old} and is now declared as ${value}. Restore the codec, or give the property another column.`,
      );
    }
  }
  return problems;
}

/** The key codec `text` was called `string` when the first tables were stamped; its bytes are the same. */
function withTextCodec(key: string): string {
  return key.replace(/(?<=[:(])string(?=[ )]|$)/g, 'text');
}

/** "key a b; marker d:5f; d:6e column text" -> key => "a b", marker => "d:5f", d:6e => "column text". */
function readStamp(text: string): Map<string, string> {
  return new Map(
    text.split(SEPARATOR).map((item) => {
      const space = item.indexOf(' ');
      return [item.slice(0, space), item.slice(space + 1)];
    }),
  );
}

/** What is to be added to the metadata so that later openings know of these entities; empty when nothing is. */
export function stampChanges(table: TableSchema, live: TableDescriptor): Record<string, string> {
  const changes: Record<string, string> = {};
  for (const entity of table.entities) {
    const key = stampKey(entity);
    const written = live.metadata[key];
    const merged = new Map([...readStamp(written ?? ''), ...readStamp(stampText(entity))]);
    merged.delete('');
    const text = [...merged].map(([name, value]) => `${name} ${value}`).join(SEPARATOR);
    if (text !== written) changes[key] = text;
  }
  return changes;
}
