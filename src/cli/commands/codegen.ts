import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import { javaSource } from '../codegen/java.js';
import { entityModels } from '../codegen/model.js';
import { pythonSource } from '../codegen/python.js';
import type { CliContext } from '../context.js';
import { entityNamed, loadSchema } from '../load-entities.js';

interface CommonFlags {
  readonly entity: readonly string[];
  readonly out?: string;
}

interface JavaFlags extends CommonFlags {
  readonly class?: string;
  readonly package?: string;
}

/** `rowan codegen java|python <module>`: classes for other languages that read and write the same bytes (docs/codegen.md). */
export function addCodegenCommand(program: Command, context: CliContext): void {
  const codegen = program
    .command('codegen')
    .description('Prints classes in Java or Python that encode and decode the keys and cells of entities.');
  common(codegen.command('java'))
    .description(
      'Prints a Java file (Java 8 and later, no libraries): a class for each entity, and the codecs that they use.',
    )
    .option('--package <name>', 'the package of the file')
    .option('--class <name>', 'the public class; default the name of --out without .java, or Entities')
    .action(async (module: string, flags: JavaFlags) => {
      const models = await modelsOf(module, flags);
      const className = flags.class ?? (flags.out === undefined ? 'Entities' : basename(flags.out, '.java'));
      print(context, flags, javaSource(models, { className, packageName: flags.package }));
    });
  common(codegen.command('python'))
    .description(
      'Prints a Python module (Python 3.8 and later, no packages): a dataclass for each entity, and the codecs that they use.',
    )
    .action(async (module: string, flags: CommonFlags) => {
      print(context, flags, pythonSource(await modelsOf(module, flags)));
    });
}

function common(command: Command): Command {
  return command
    .argument('<module>', 'path of the compiled module that exports the entities')
    .addOption(
      new Option('--entity <name>', 'only this entity; may be repeated')
        .argParser((name: string, all: readonly string[]) => [...all, name])
        .default([]),
    )
    .option('--out <file>', 'write it to a file');
}

async function modelsOf(module: string, { entity }: CommonFlags) {
  const schema = await loadSchema(module);
  return entityModels(
    schema,
    entity.length === 0 ? schema.entities : entity.map((name) => entityNamed(schema, name)),
  );
}

function print(context: CliContext, { out }: CommonFlags, text: string): void {
  if (out === undefined) context.write(text);
  else writeFileSync(out, text);
}
