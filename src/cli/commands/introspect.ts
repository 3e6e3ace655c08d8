/** `rowan introspect <place> [table]`: the TypeScript that declares live tables (docs/schema.md). */

import type { Command } from 'commander';
import { schemaTableDescriptor, TableSchemaStore } from '../../codec/index.js';
import { introspect, readStamp, stampTexts } from '../../ddl/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { avroSubject } from '../../schema/index.js';
import type { Engine, TableDescriptor } from '../../table/index.js';
import type { CliContext } from '../context.js';
import { withEngines } from '../engines.js';

export function addIntrospectCommand(program: Command, context: CliContext): void {
  program
    .command('introspect')
    .description(
      'Prints the TypeScript that declares a live table and its entities, from what its metadata keeps of them.',
    )
    .argument('<place>', 'the folder of an embedded store, or hbase:host:port,host:port')
    .argument('<table>', 'the table')
    .action((place: string, name: string) =>
      withEngines([{ place }], async ([engine]) => {
        const { admin } = engine!;
        if (!(await admin.tableExists(name))) {
          const names = (await admin.listTables()).map((table) => table.name);
          throw new InvalidArgumentError(`There is no table "${name}". There are ${names.join(', ')}.`);
        }
        const descriptor = await admin.getDescriptor(name);
        const splitKeys = (await admin.getRegions(name)).slice(1).map(({ startKey }) => startKey);
        const { source, inexact } = introspect(
          { descriptor, splitKeys },
          await schemasOf(engine!, descriptor),
        );
        context.write(source);
        for (const sentence of inexact) context.writeError(`not exact: ${sentence}\n`);
      }),
    );
}

/** The latest schema of each Avro column of a table. */
async function schemasOf(engine: Engine, table: TableDescriptor): Promise<Map<string, string>> {
  const schemas = new Map<string, string>();
  const { name: stored } = schemaTableDescriptor();
  if (!(await engine.admin.tableExists(stored))) return schemas;
  const store = new TableSchemaStore(engine.table(stored));
  for (const [stampName, text] of stampTexts(table.metadata)) {
    const stamp = readStamp(text);
    const recordType = stampName.split('.')[2];
    for (const { family, qualifier, codec } of typeof stamp === 'string' ? [] : stamp.columns) {
      if (!codec.startsWith('avro(')) continue;
      const subject = avroSubject(
        table.name,
        recordType === undefined ? undefined : Number(recordType),
        family,
        Buffer.from(qualifier, 'hex'),
      );
      const latest = (await store.versions(subject)).at(-1);
      const schema = latest === undefined ? undefined : await store.get(latest);
      if (schema !== undefined) schemas.set(subject, schema);
    }
  }
  return schemas;
}
