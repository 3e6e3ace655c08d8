import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { InvalidArgumentError } from '../../errors.js';
import { diagramOf, entityDiagram } from '../../schema/diagram.js';
import type { CliContext } from '../context.js';
import { entityNamed, loadSchema } from '../load-entities.js';

interface DiagramFlags {
  readonly columns: boolean;
  readonly entity: readonly string[];
  readonly mermaid?: boolean;
  readonly svg?: boolean;
  readonly markdown?: boolean;
  readonly out?: string;
}

/** `rowan diagram <module>`: the entities of a module and what they refer to, as a diagram in Mermaid or SVG (docs/schema.md). */
export function addDiagramCommand(program: Command, context: CliContext): void {
  program
    .command('diagram')
    .description(
      'Prints the entities of a module and their relations as an entity-relationship diagram in Mermaid or SVG.',
    )
    .argument('<module>', 'path of the compiled module that exports the entities')
    .option(
      '--entity <name>',
      'only this entity and those that it refers to; may be repeated',
      (name: string, all: readonly string[]) => [...all, name],
      [],
    )
    .option('--no-columns', 'keys and relations alone')
    .option('--mermaid', 'in the language of Mermaid; default')
    .option('--svg', 'as a picture')
    .option('--markdown', 'as a block of Markdown, in Mermaid')
    .option('--out <file>', 'write it to a file')
    .action(async (module: string, flags: DiagramFlags) => {
      const { entity, columns, mermaid, svg, markdown, out } = flags;
      if (svg === true && (mermaid === true || markdown === true)) {
        throw new InvalidArgumentError('--svg is a picture. Omit --mermaid and --markdown, or omit --svg.');
      }
      const schema = await loadSchema(module);
      const entities = entity.map((name) => entityNamed(schema, name));
      const options = { columns, ...(entities.length > 0 && { entities }) };
      let text: string;
      if (svg === true) {
        const { svgDiagram } = await import('../diagram-svg.js');
        text = svgDiagram(diagramOf(schema, options));
      } else {
        const diagram = entityDiagram(schema, options);
        text = markdown === true ? `\`\`\`mermaid\n${diagram}\`\`\`\n` : diagram;
      }
      if (out === undefined) context.write(text);
      else writeFileSync(out, text);
    });
}
