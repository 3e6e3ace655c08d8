/** Generates TypeScript that declares a table not written by Rowan, from a sample of its rows. */

import { toLatin1 } from '../../bytes/index.js';
import { SchemaError } from '../../errors.js';
import type { Result } from '../../table/index.js';
import type { TableState } from '../plan/types.js';
import { guessKey, guessValue, isPrintable, percent } from './guess.js';
import { type IntrospectedTable, importsOf, tableText } from './introspect.js';
import { quoted } from './source.js';

/** A family with more columns than this is declared as a Map. */
const MAX_COLUMNS = 64;

/** The values seen in a column. */
interface Seen {
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly values: Uint8Array[];
}

/**
 * Guesses the key and the columns. A comment at each guess says how many of the sampled rows or cells agree.
 * @throws SchemaError when the sample is empty.
 */
export function introspectForeign(
  { descriptor, splitKeys }: Pick<TableState, 'descriptor' | 'splitKeys'>,
  sample: readonly Result[],
): IntrospectedTable {
  const rows = sample.filter(({ cells }) => cells.length > 0);
  if (rows.length === 0) {
    throw new SchemaError(
      `Table "${descriptor.name}" has neither stamps nor rows: so there is nothing to infer a declaration from.`,
    );
  }
  const uses = new Set(['defineEntity', 'defineTable', 'part']);
  const inexact = [
    `Table "${descriptor.name}" has no stamps: its key and columns are guessed from ${rows.length} rows. Review each guess.`,
  ];
  const { elements, share } = guessKey(rows.map(({ row }) => row));
  for (const element of elements) for (const name of element.uses) uses.add(name);
  const names = new Set<string>(elements.flatMap(({ text }) => /'(\w+)'/.exec(text)?.[1] ?? []));
  const lines: string[] = [];
  for (const { name } of descriptor.families) {
    const columns = columnsOf(rows, name);
    if (columns.length > MAX_COLUMNS) {
      const keys = guessValue(columns.map(({ qualifier }) => qualifier));
      const values = guessValue(columns.flatMap((column) => column.values));
      for (const used of [...keys.uses, ...values.uses]) uses.add(used);
      lines.push(
        `    // ${columns.length} columns: names ${percent(keys.share)}, values ${percent(values.share)} agree${noteOf(values)}`,
        `    ${quoted(propertyName(name, names))}: c.columns(${quoted(`${name}:`)}, { key: ${keys.text}, value: ${values.text} }),`,
      );
      continue;
    }
    for (const { family, qualifier, values } of columns) {
      const guess = guessValue(values);
      for (const used of guess.uses) uses.add(used);
      const property = quoted(propertyName(isPrintable(qualifier) ? toLatin1(qualifier) : '', names));
      lines.push(
        `    // ${percent(guess.share)} of ${values.length} cells agree${noteOf(guess)}`,
        `    ${property}: c.column(${placeOf(family, qualifier)}, ${guess.text}).optional(),`,
      );
    }
  }
  const entity = `// The key: ${percent(share)} of ${rows.length} rows are read and written again as the same bytes.
export const Row = defineEntity({
  name: 'Row',
  table,
  marker: false,
  key: [${elements.map(({ text }) => text).join(', ')}],
  columns: (c) => ({
${lines.map((line) => `${line}\n`).join('')}  }),
});
`;
  return { source: [importsOf(uses), tableText(descriptor, splitKeys), entity].join('\n'), inexact };
}

function columnsOf(rows: readonly Result[], family: string): Seen[] {
  const columns = new Map<string, Seen>();
  for (const { cells } of rows) {
    for (const cell of cells) {
      if (cell.family !== family) continue;
      const name = toLatin1(cell.qualifier);
      const seen = columns.get(name);
      if (seen !== undefined) seen.values.push(cell.value);
      else columns.set(name, { family, qualifier: cell.qualifier, values: [cell.value] });
    }
  }
  return [...columns.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, seen]) => seen);
}

/** A name that no property has yet. */
function propertyName(name: string, names: Set<string>): string {
  let property = name.replaceAll(/[^\p{L}\p{N}_$]/gu, '_') || 'column';
  if (/^\d/.test(property) || property in {}) property = `_${property}`;
  while (names.has(property)) property += '_';
  names.add(property);
  return property;
}

/** A column name for `c.column`: a string if it is ASCII, else bytes. */
function placeOf(family: string, qualifier: Uint8Array): string {
  const plain = isPrintable(qualifier) && qualifier.every((byte) => byte < 0x80);
  if (plain) return quoted(`${family}:${toLatin1(qualifier)}`);
  return `{ family: ${quoted(family)}, qualifier: Buffer.from('${Buffer.from(qualifier).toString('hex')}', 'hex') }`;
}

function noteOf({ note }: { readonly note?: string | undefined }): string {
  return note === undefined ? '' : `; ${note}`;
}
