import type { Command } from 'commander';
import { InvalidArgumentError } from '../../errors.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import { type SynthOptions, type SynthValues, synthesize } from '../../tools/index.js';
import { type CliContext, withProgress } from '../context.js';
import { withDatabase } from '../databases.js';
import { entityNamed, importModule, schemaOf } from '../load-entities.js';
import { PLACE, printOutcome, runOptions, wholeNumber } from './tools.js';

interface SynthFlags {
  readonly rows: string;
  readonly seed?: string;
  readonly values?: readonly string[];
  readonly skew?: readonly string[];
  readonly serial?: readonly string[];
  readonly absent?: readonly string[];
  readonly name?: string;
  readonly rate?: string;
  readonly parallel?: string;
  readonly restart?: boolean;
  readonly json?: boolean;
  readonly progress?: boolean;
}

/** `rowan synth` (docs/tools.md). */
export function addSynthCommand(program: Command, context: CliContext): void {
  program
    .command('synth')
    .description('Puts synthetic entities, with realistic skew.')
    .argument('<place>', PLACE)
    .argument(
      '<module>',
      'path of the compiled module of the entities; its export "synth" may configure values further',
    )
    .argument('<entity>', "the entity's name")
    .requiredOption('--rows <n>', 'how many entities to generate')
    .option('--seed <n>', 'equal seeds give equal entities; default 0')
    .option('--values <property=n...>', 'the number of distinct values of a property')
    .option('--skew <property=s...>', "0: uniform; 1: Zipf's law; default 0")
    .option('--serial <property...>', 'each entity has the value after that of the one before')
    .option('--absent <property=share...>', 'share of the entities without the property, 0 to 1')
    .option('--name <name>', 'name of the job, by which it can be resumed')
    .option('--rate <rows>', 'limit in entities per second')
    .option('--parallel <n>', 'splits processed in parallel; default 4')
    .option('--restart', 'start over, even if an earlier run did not finish')
    .option('--json', 'print the result as JSON')
    .option('--no-progress', 'do not show a progress bar')
    .action(async (place: string, module: string, name: string, flags: SynthFlags) => {
      const exports = await importModule(module);
      const schema = schemaOf(module, exports);
      const { target } = entityNamed(schema, name);
      const declared = (
        exports['synth'] as Readonly<Record<string, SynthOptions['properties']>> | undefined
      )?.[name];
      const options = optionsOf(flags, declared ?? {});
      await withDatabase(place, schema, { mayMake: true }, async (db) => {
        const entity = db.schema.entity(target);
        const outcome = await withProgress(flags, (onProgress) =>
          synthesize(db.engine, db.repository(target as KeyedClass), entity, {
            ...options,
            run: runOptions(flags, onProgress),
          }),
        );
        printOutcome(context, flags.json === true, outcome);
      });
    });
}

function optionsOf(flags: SynthFlags, declared: NonNullable<SynthOptions['properties']>): SynthOptions {
  const properties: Record<string, NonNullable<SynthOptions['properties']>[string]> = { ...declared };
  const add = (property: string, values: SynthValues): void => {
    const before = properties[property];
    properties[property] = typeof before === 'object' ? { ...before, ...values } : values;
  };
  for (const [property, n] of pairs('--values', flags.values)) add(property, { values: n });
  for (const [property, n] of pairs('--skew', flags.skew)) add(property, { skew: n });
  for (const property of flags.serial ?? []) add(property, { serial: true });
  for (const [property, n] of pairs('--absent', flags.absent)) add(property, { absent: n });
  return {
    rows: wholeNumber('--rows', flags.rows),
    properties,
    ...(flags.seed === undefined ? {} : { seed: wholeNumber('--seed', flags.seed) }),
    ...(flags.name === undefined ? {} : { name: flags.name }),
  };
}

function pairs(flag: string, texts: readonly string[] = []): [property: string, number: number][] {
  return texts.map((text) => {
    const [, property, digits] = /^([^=]+)=(\d+(?:\.\d+)?)$/.exec(text) ?? [];
    if (property !== undefined) return [property, Number(digits)];
    throw new InvalidArgumentError(
      `${flag} takes property=number, as in ${flag} customerId=1000, not "${text}".`,
    );
  });
}
