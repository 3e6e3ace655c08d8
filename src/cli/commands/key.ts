import { type Command, Option } from 'commander';
import { fromHex, fromStringBinary, toHex, toStringBinary } from '../../bytes/index.js';
import type { JsonValue } from '../../codec/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { type ColumnSchema, type EntitySchema, isSingleCell } from '../../schema/types.js';
import type { CliContext } from '../context.js';
import { loadSchema } from '../load-entities.js';
import { sampleKeys } from './hotspots.js';

type Form = 'shell' | 'hex' | 'base64';

interface Flags {
  readonly as: Form;
}

const MODULE = 'path of the compiled module that exports the entities';

/** `rowan key encode|decode` and `rowan cell encode|decode`: convert rows and cells, without a table. */
export function addKeyCommands(program: Command, context: CliContext): void {
  const key = program.command('key').description('Encodes and decodes row keys of an entity.');
  withForm(key.command('decode'))
    .description(
      'Prints the parts of a row key as JSON: dates as ISO strings, bigints as digits, bytes in the notation of the HBase shell.',
    )
    .argument('<module>', MODULE)
    .argument('<entity>', "the entity's name")
    .argument('<row>', 'the row, as the HBase shell prints it (\\x07c1\\x00)')
    .action(async (module: string, name: string, row: string, { as }: Flags) => {
      const { key } = await entityOf(module, name);
      const layout = key.stored;
      const parts = layout.decode(bytesOf(row, as));
      context.write(`${JSON.stringify(parts, (_, value) => plain(value))}\n`);
    });
  withForm(key.command('encode'))
    .description('Prints the row key of some key parts.')
    .argument('<module>', MODULE)
    .argument('<entity>', "the entity's name")
    .argument('<parts>', `a JSON object of the key's parts, '{"id":"c1"}'`)
    .action(async (module: string, name: string, parts: string, { as }: Flags) => {
      const { key } = await entityOf(module, name);
      const layout = key.stored;
      const [sample] = sampleKeys(layout, [jsonOf(parts)]);
      context.write(`${textOf(sample instanceof Uint8Array ? sample : layout.encode(sample!), as)}\n`);
    });
  const cell = program.command('cell').description("Encodes and decodes values of an entity's columns.");
  withForm(cell.command('decode'))
    .description('Prints the value of a cell as JSON.')
    .argument('<module>', MODULE)
    .argument('<entity>', "the entity's name")
    .argument('<property>', 'the property of the column')
    .argument('<value>', 'the bytes of the value')
    .action(async (module: string, name: string, property: string, value: string, { as }: Flags) => {
      const { column, entity } = await columnOf(module, name, property);
      const decoded = column.codec.decode(bytesOf(value, as));
      const read = entity.mapper.toPlain(nested(column, decoded)) as Record<string, unknown>;
      context.write(`${JSON.stringify(column.path.reduce<unknown>(inside, read))}\n`);
    });
  withForm(cell.command('encode'))
    .description('Prints the bytes of a value.')
    .argument('<module>', MODULE)
    .argument('<entity>', "the entity's name")
    .argument('<property>', 'the property of the column')
    .argument(
      '<value>',
      'the value as JSON: dates as ISO strings, bigints as strings of digits, bytes as base64',
    )
    .action(async (module: string, name: string, property: string, value: string, { as }: Flags) => {
      const { column, entity } = await columnOf(module, name, property);
      const given = entity.mapper.fromPlain(nested(column, jsonOf(value)) as Record<string, JsonValue>);
      context.write(`${textOf(column.codec.encode(column.path.reduce<unknown>(inside, given)), as)}\n`);
    });
}

function withForm(command: Command): Command {
  return command.addOption(
    new Option('--as <form>', 'the notation of bytes: that of the HBase shell, hex or base64')
      .choices(['shell', 'hex', 'base64'])
      .default('shell'),
  );
}

async function entityOf(module: string, name: string): Promise<EntitySchema> {
  const { entities } = await loadSchema(module);
  const entity = entities.find((each) => each.name === name);
  if (entity !== undefined) return entity;
  throw new InvalidArgumentError(
    `The module has no entity "${name}". It has ${entities.map((each) => each.name).join(', ')}.`,
  );
}

/** A column of one cell; each cell of the others is read with a codec of its own. */
async function columnOf(
  module: string,
  name: string,
  property: string,
): Promise<{ entity: EntitySchema; column: ColumnSchema }> {
  const entity = await entityOf(module, name);
  const column = entity.columnsByProperty.get(property);
  if (isSingleCell(column)) return { entity, column };
  const known = entity.columns.filter(isSingleCell);
  throw new InvalidArgumentError(
    `${name} has no single-cell column "${property}". It has ${known.map((each) => each.property).join(', ')}.`,
  );
}

function nested({ path }: ColumnSchema, value: unknown): Record<string, unknown> {
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
}

function inside(object: unknown, name: string): unknown {
  return (object as Record<string, unknown>)[name];
}

/** Dates are texts already when JSON asks. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Uint8Array ? toStringBinary(value) : value;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidArgumentError(`${text} is not JSON: ${(cause as Error).message}.`, { cause });
  }
}

function bytesOf(text: string, form: Form): Uint8Array {
  if (form === 'shell') return fromStringBinary(text);
  const isRight = form === 'hex' ? /^(?:[0-9a-fA-F]{2})*$/ : /^[A-Za-z0-9+/]*={0,2}$/;
  if (!isRight.test(text)) throw new InvalidArgumentError(`"${text}" is not valid ${form}.`);
  return form === 'hex' ? fromHex(text.toLowerCase()) : Buffer.from(text, 'base64');
}

function textOf(bytes: Uint8Array, form: Form): string {
  if (form === 'shell') return toStringBinary(bytes);
  return form === 'hex' ? toHex(bytes) : Buffer.from(bytes).toString('base64');
}
