import type { Command } from 'commander';
import { toLatin1 } from '../../bytes/index.js';
import { schemaTableDescriptor, TableSchemaStore } from '../../codec/index.js';
import { INDEX_DDL, introspect, introspectForeign, readStamp, stampTexts } from '../../ddl/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { avroSubject } from '../../schema/index.js';
import { type Engine, type Result, Scan, type TableDescriptor } from '../../table/index.js';
import type { CliContext } from '../context.js';
import { looking, withEngines } from '../databases.js';
import { wholeNumber } from './tools.js';

/** `rowan introspect <place> [table]`: generates the TypeScript that declares existing tables (docs/introspect.md). */
export function addIntrospectCommand(program: Command, context: CliContext): void {
  program
    .command('introspect')
    .description(
      'Prints TypeScript that declares a live table and its entities, from the metadata of the table, or else from a sample of its rows.',
    )
    .argument('<place>', 'the folder of an embedded store, or hbase:host:port,host:port')
    .argument('<table>', 'the table')
    .option('--sample <rows>', 'rows to sample from a table that Rowan did not write', '1000')
    .action((place: string, name: string, { sample }: { readonly sample: string }) =>
      withEngines([{ place, readOnly: looking(context) }], async ([engine]) => {
        const { admin } = engine!;
        if (!(await admin.tableExists(name))) {
          const names = (await admin.listTables()).map((table) => table.name);
          throw new InvalidArgumentError(
            `There is no table "${name}". There are ${names.join(', ') || 'no tables'}.`,
          );
        }
        const descriptor = await admin.getDescriptor(name);
        const splitKeys = (await admin.getRegions(name)).slice(1).map(({ startKey }) => startKey);
        const state = { descriptor, splitKeys };
        const { source, inexact } =
          stampTexts(descriptor.metadata).length > 0
            ? introspect(state, await schemasOf(engine!, descriptor), [
                ...((await INDEX_DDL?.stored(admin, [name]))?.get(name)?.values() ?? []),
              ])
            : introspectForeign(
                state,
                await sampleOf(engine!, name, wholeNumber('--sample', sample), splitKeys.length + 1),
              );
        context.write(source);
        for (const sentence of inexact) context.writeError(`not exact: ${sentence}\n`);
      }),
    );
}

/** Reads rows from the beginning and the end of each region, `wanted` in total. */
async function sampleOf(engine: Engine, name: string, wanted: number, regions: number): Promise<Result[]> {
  const table = engine.table(name);
  const each = Math.max(1, Math.floor(wanted / (2 * regions)));
  const found = new Map<string, Result>();
  for (const { startKey, endKey } of await engine.admin.getRegions(name)) {
    for (const scan of [
      new Scan().withStartRow(startKey).withStopRow(endKey),
      new Scan().setReversed(true).withStartRow(endKey, false).withStopRow(startKey, true),
    ]) {
      for await (const row of table.scan(scan.setLimit(each).setCacheBlocks(false)))
        found.set(toLatin1(row.row), row);
    }
  }
  return [...found.values()];
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
