import { homedir } from 'node:os';
import { join } from 'node:path';
import { inspect as inspectObject } from 'node:util';
import type { Command } from 'commander';
import { InvalidArgumentError } from '../../errors.js';
import type { KeyConditions } from '../../key/index.js';
import type { Schema } from '../../schema/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { type EntityView, type RowInterval, runTyped, ShellSession, Terminal } from '../../shell/index.js';
import { type RubyHash, RubySymbol, type RubyValue, toS, toText } from '../../shell/ruby/index.js';
import { canonicalTableName, type Result } from '../../table/index.js';
import { type CliContext, CliExit, packageVersion, textOf } from '../context.js';
import { withEngines } from '../databases.js';
import { loadSchema } from '../load-entities.js';
import { sampleKeys } from './hotspots.js';

/** The hash key that names the entity, needed if several have parts with the same names. */
const ENTITY = 'ENTITY';

/** Decodes rows and keys in the shell by the declarations of a module (`--entities`). */
export class SchemaView implements EntityView {
  constructor(private readonly schema: Schema) {}

  rowOf(table: string, key: RubyHash): Uint8Array {
    const { entity, values } = this.keyOf(table, key, true);
    return entity.key.stored.encode(values);
  }

  rangesOf(table: string, key: RubyHash): readonly RowInterval[] {
    const { entity, values } = this.keyOf(table, key, false);
    const conditions: KeyConditions = Object.fromEntries(
      Object.entries(values).map(([part, value]) => [part, { kind: 'eq', value }]),
    );
    const plan = entity.key.plan(conditions);
    return plan.ranges.map(({ start, stop }) => ({ startRow: start, stopRow: stop ?? new Uint8Array() }));
  }

  describe(table: string, result: Result): string | undefined {
    const entity = this.schema.entityOfRow(canonicalTableName(table), result.row);
    if (entity === undefined) return undefined;
    try {
      const found = entity.mapper.fromResult(result);
      return found === null
        ? undefined
        : inspectObject(found, { breakLength: Number.POSITIVE_INFINITY, depth: 6 });
    } catch (error) {
      return `${entity.name}: ${(error as Error).message}`;
    }
  }

  /** The entity whose key has exactly these parts; with `whole` false, at least these. */
  private keyOf(
    table: string,
    key: RubyHash,
    whole: boolean,
  ): { readonly entity: EntitySchema; readonly values: Record<string, unknown> } {
    const given = Object.fromEntries(key.pairs().map(([part, value]) => [nameOf(part), plain(value)]));
    const { [ENTITY]: named, ...values } = given;
    const names = Object.keys(values);
    const fitting = this.entitiesOf(table).filter(({ name, key: { parts } }) => {
      if (named !== undefined && name !== named) return false;
      const known = new Set(parts.map((part) => part.name));
      return names.every((part) => known.has(part)) && (!whole || known.size === names.length);
    });
    const [entity] = fitting;
    if (entity !== undefined && fitting.length === 1) {
      const converted = Object.entries(sampleKeys(entity.key.stored, [values])[0]!);
      return { entity, values: Object.fromEntries(converted.filter(([, value]) => value !== undefined)) };
    }
    throw new InvalidArgumentError(this.unfit(table, names, fitting));
  }

  private unfit(table: string, names: readonly string[], fitting: readonly EntitySchema[]): string {
    if (fitting.length > 1) {
      const which = fitting.map(({ name }) => name).join(', ');
      return `Keys of ${which} have the parts ${names.join(', ')}. Name one: ENTITY => '${fitting[0]!.name}'.`;
    }
    const keys = this.entitiesOf(table).map(
      ({ name, key }) => `${name} { ${key.parts.map((part) => part.name).join(', ')} }`,
    );
    return `No key of table ${table} has the parts ${names.join(', ')}. Its keys are: ${keys.join('; ') || 'none'}.`;
  }

  private entitiesOf(table: string): readonly EntitySchema[] {
    const name = canonicalTableName(table);
    return this.schema.tables.find(({ descriptor }) => descriptor.name === name)?.entities ?? [];
  }
}

function nameOf(key: RubyValue): string {
  return key instanceof RubySymbol ? key.name : toText(toS(key));
}

/** Converts a Ruby value to what key codecs accept: safe integers become numbers. */
function plain(value: RubyValue): unknown {
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }
  if (typeof value === 'boolean' || typeof value === 'number' || value === null) return value;
  return toText(toS(value));
}

/** How often, in ms, changes by another process become visible. */
const REFRESH = 250;

interface ShellFlags {
  readonly noninteractive?: boolean;
  readonly create?: boolean;
  readonly entities?: string;
}

/** `rowan shell <place> [script]`: HBase's shell for either engine (docs/shell.md). */
export function addShellCommand(program: Command, context: CliContext): void {
  program
    .command('shell')
    .summary('Runs HBase shell commands, from a script or interactively.')
    .description(
      "Runs the commands of HBase's shell with the same syntax and the same output, from a script or " +
        'interactively.',
    )
    .argument('<place>', 'the folder of an embedded store, or hbase:host:port,host:port')
    .argument('[script]', 'path of a script')
    .option('-n, --noninteractive', 'stop at the first error, with exit code 1')
    .option('--create', 'create the store if it is missing')
    .option(
      '--entities <module>',
      'path of a compiled module, to decode rows and to take keys by their parts',
    )
    .action(async (place: string, script: string | undefined, flags: ShellFlags) => {
      const text = script === undefined ? undefined : textOf(script);
      const schema = flags.entities === undefined ? undefined : await loadSchema(flags.entities);
      await withEngines(
        [
          {
            place,
            mayMake: flags.create === true,
            readOnly: { refreshEvery: REFRESH, tell: context.writeError },
          },
        ],
        async ([engine]) => {
          const isTerminal = process.stdin.isTTY === true;
          const terminal = new Terminal({
            input: process.stdin,
            output: process.stdout,
            isTerminal,
            history: join(homedir(), '.rowan', 'shell-history'),
          });
          try {
            const session = new ShellSession({
              engine: engine!,
              version: packageVersion(),
              io: { write: context.write, ask: terminal.ask, width: () => process.stdout.columns ?? 0 },
              entities: schema && new SchemaView(schema),
              stopAtError: flags.noninteractive === true,
            });
            const { code } =
              text === undefined
                ? await runTyped(session, terminal, context.write, isTerminal)
                : await session.script(text);
            if (code !== 0) throw new CliExit(code);
          } finally {
            terminal.close();
          }
        },
      );
    });
}
