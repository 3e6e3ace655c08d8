import type { Command } from 'commander';
import { InvalidArgumentError } from '../../errors.js';
import { describeFinding, type LintSuppression, lintTables, type Schema } from '../../schema/index.js';
import { type CliContext, textOf } from '../context.js';
import { loadSchema } from '../load-entities.js';
import { parseSamples } from './hotspots.js';

interface LintFlags {
  readonly sample: readonly string[];
  readonly suppressions?: string;
  readonly json?: boolean;
  readonly strict?: boolean;
}

/** `rowan lint <module>`: checks declarations for common design faults (docs/lint.md). */
export function addLintCommand(program: Command, context: CliContext): void {
  program
    .command('lint')
    .description(
      'Checks the declarations of a module for common design faults: families, names, keys that make hot regions, versions, ' +
        'times to live. Exit code 1 on a warning.',
    )
    .argument('<module>', 'path of the compiled module that exports the entities')
    .option(
      '--sample <entity=file>',
      'real rows of an entity as JSON, in the order of their writes; may be repeated',
      (sample: string, all: readonly string[]) => [...all, sample],
      [],
    )
    .option('--suppressions <file>', 'findings to ignore: JSON, a list of { code, place, reason }')
    .option('--strict', 'exit code 1 for hints too')
    .option('--json', 'as JSON')
    .action(async (module: string, flags: LintFlags) => {
      const schema = await loadSchema(module);
      const suppressions =
        flags.suppressions === undefined ? [] : (JSON.parse(textOf(flags.suppressions)) as LintSuppression[]);
      const findings = lintTables(schema.tables, { suppressions, samples: samplesOf(schema, flags.sample) });
      if (flags.json === true) context.write(`${JSON.stringify(findings, null, 2)}\n`);
      else for (const one of findings) context.write(`${one.severity}: ${describeFinding(one)}\n`);
      const bad = findings.filter(({ severity }) => severity === 'warning' || flags.strict === true).length;
      if (bad > 0) {
        throw new InvalidArgumentError(
          `${bad} of ${findings.length} findings must be resolved. Correct the declarations, or list intended ones with a reason in a --suppressions file.`,
        );
      }
    });
}

function samplesOf(
  schema: Schema,
  samples: readonly string[],
): ReadonlyMap<string, readonly Readonly<Record<string, unknown>>[]> {
  return new Map(
    samples.map((sample) => {
      const [, name, file] = /^([^=]+)=(.+)$/s.exec(sample) ?? [];
      const entity = schema.entities.find((each) => each.name === name);
      if (entity === undefined) {
        throw new InvalidArgumentError(
          `--sample takes ENTITY=FILE with one of ${schema.entities.map((each) => each.name).join(', ')}; not "${sample}".`,
        );
      }
      const rows = parseSamples(textOf(file!)) as Parameters<typeof entity.mapper.fromPlain>[0][];
      return [name!, rows.map((row) => entity.mapper.fromPlain(row) as Record<string, unknown>)];
    }),
  );
}
