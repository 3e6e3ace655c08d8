/**
 * The pages of the cookbook and the programs whose code and output they show. A block `ts region=NAME` is that region of
 * the program without its import of the recipe tools, a block `text output=NAME` is that section of its output.
 * ROWAN_GOLDEN=write fills the blocks.
 */

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAMS = join(ROOT, 'examples/cookbook');
export const COOKBOOK = join(ROOT, 'docs/cookbook');

export const RECIPES = readdirSync(PROGRAMS, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

/** What sections of a recipe printed, by their names. */
export type Output = ReadonlyMap<string, string>;

/** Where recipes run: in memory, if neither is given. */
interface RecipePlace {
  readonly masters?: readonly string[];
  readonly bigtable?: { readonly host: string; readonly place: string };
}

/** Runs recipes in one process, or those that are named. */
export async function runRecipes(
  { masters, bigtable }: RecipePlace = {},
  recipes: readonly string[] = [],
): Promise<ReadonlyMap<string, Output>> {
  const { ROWAN_MASTERS: _, ROWAN_BIGTABLE: __, ...inherited } = process.env;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(ROOT, 'build/examples/cookbook/run.js'), ...recipes],
    {
      cwd: tmpdir(),
      maxBuffer: 2 ** 26,
      env: {
        ...inherited,
        ...(masters && { ROWAN_MASTERS: masters.join(',') }),
        ...(bigtable && { ROWAN_BIGTABLE: bigtable.place, BIGTABLE_EMULATOR_HOST: bigtable.host }),
      },
    },
  );
  return parted(stdout, '\n>>> ', (text) => parted(text, '\n=== ', (section) => section.trimEnd()));
}

/** The parts of a text, by the line that each begins with. */
function parted<T>(text: string, mark: string, read: (part: string) => T): ReadonlyMap<string, T> {
  const parts = `\n${text}`.split(mark).slice(1);
  return new Map(
    parts.map((part) => [part.slice(0, part.indexOf('\n')), read(part.slice(part.indexOf('\n')))]),
  );
}

/** The page of a recipe as it must be: `text` with its blocks filled from the program and its output. */
export function filledPage(recipe: string, text: string, output: Output): string {
  const source = readFileSync(join(PROGRAMS, recipe, 'main.ts'), 'utf8');
  return text
    .replace(/^```ts region=([\w-]+)\n[\s\S]*?^```$/gm, (_, name: string) => {
      const code = new RegExp(`^// #region ${name}\\n([\\s\\S]*?)^// #endregion`, 'm').exec(source)?.[1];
      if (code === undefined) throw new Error(`${recipe}/main.ts has no region "${name}".`);
      const own = code.replace(/^import .* from '\.\.\/recipe\.js';\n/m, '');
      return `\`\`\`ts region=${name}\n${own}\`\`\``;
    })
    .replace(/^```text output=([\w-]+)\n[\s\S]*?^```$/gm, (block, name: string) => {
      const printed = output.get(name);
      return printed === undefined ? block : `\`\`\`text output=${name}${printed}\n\`\`\``;
    });
}

/** The names of the sections that a page shows. */
export function shownSections(text: string): string[] {
  return [...text.matchAll(/^```text output=([\w-]+)$/gm)].map(([, name]) => name!);
}

export const readPage = (recipe: string): string => readFileSync(join(COOKBOOK, `${recipe}.md`), 'utf8');

export const writePage = (recipe: string, text: string): void =>
  writeFileSync(join(COOKBOOK, `${recipe}.md`), text);
