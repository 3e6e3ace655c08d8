/** `rowan diagram <module>`: the entities of a module and what they refer to, as a diagram in Mermaid (docs/diagram.md). */

import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { entityDiagram } from '../../schema/diagram.js';
import type { CliContext } from '../context.js';
import { entityNamed, loadSchema } from '../load-entities.js';

interface DiagramFlags {
  readonly columns: boolean;
  readonly entity: readonly string[];
  readonly markdown?: boolean;
  readonly out?: string;
}

export function addDiagramCommand(program: Command, context: CliContext): void {
  program
    .command('diagram')
    .description(
      'print the entities of a module and their relations as an entity-relationship diagram in Mermaid',
    )
    .argument('<module>', 'path of the compiled module that exports the entities')
    .option(
      '--entity <name>',
      'only this entity and those that it refers to; may be repeated',
      (name: string, all: readonly string[]) => [...all, name],
      [],
    )
    .option('--no-columns', 'keys and relations alone')
    .option('--markdown', 'as a block of Markdown')
    .option('--out <file>', 'write it to a file')
    .action(async (module: string, { entity, columns, markdown, out }: DiagramFlags) => {
      const schema = await loadSchema(module);
      const entities = entity.map((name) => entityNamed(schema, name));
      const diagram = entityDiagram(schema, { columns, ...(entities.length > 0 && { entities }) });
      const text = markdown === true ? `\`\`\`mermaid\n${diagram}\`\`\`\n` : diagram;
      if (out === undefined) context.write(text);
      else writeFileSync(out, text);
    });
}
