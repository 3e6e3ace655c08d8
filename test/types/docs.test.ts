import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as rowan from '../../src/index.js';
import { scaled } from '../proof/scale.js';
import { declared, MODES, ROOT, STRICT, tsc, write } from './compiler.js';

const TYPES = ['KeyedClass', 'KeyOf', 'EntityOf', 'EntitySubscriber', 'Versioned'];

/** The pages whose examples are of one program, in their order. */
const PAGES = ['entities', 'column-kinds', 'entity-hooks', 'define-entity', 'entity-types', 'time'];

const pagesOfEntities = (): string =>
  PAGES.map((name) => readFileSync(join(ROOT, `docs/${name}.md`), 'utf8')).join('\n');

/** The examples of a page as one module, with the imports that they need. */
function moduleOf(page: string): string {
  const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!);
  const code = blocks.join('\n');
  const used = (name: string) => new RegExp(`\\b${name}\\b`).test(code);
  const values = Object.keys(rowan).filter(
    (name) => used(name) && !new RegExp(`(class|const) ${name}\\b`).test(code),
  );
  const types = TYPES.filter(used).map((name) => `type ${name}`);
  return [
    `import { ${[...new Set([...values, ...types])].join(', ')} } from '../../../src/index.js';`,
    "import { z } from 'zod';",
    code,
    'export {};',
  ].join('\n');
}

it.each(scaled(MODES.slice(1), MODES, MODES))(
  'the examples of docs/entities.md and the pages behind it compile, with %s',
  async (_mode, options) => {
    const page = pagesOfEntities();
    const file = write(`docs-${options[1]}.ts`, declared(moduleOf(page)));
    const { output } = await tsc(...STRICT, ...options, file);
    expect(output).toBe('');
  },
);

it('the examples of docs/entities.md and the pages behind it are sound declarations', async () => {
  const page = pagesOfEntities();
  const classes = ['Customer', 'Order', 'Shop', 'MetricHour', 'User', 'Circle', 'Box', 'Comment', 'Invoice'];
  const file = write('docs-run.ts', `${moduleOf(page)}\nexport const entities = [${classes.join(', ')}];\n`);
  const { entities } = (await import(file)) as { entities: rowan.EntityClass[] };
  const schema = rowan.compileSchema(entities);
  expect(schema.entities.map(({ name }) => name)).toEqual(classes);
  expect(schema.warnings).toEqual([]);
});
