/**
 * The program around a block of TypeScript on a page: what the block takes as given before it, and what closes it. Tests compile
 * these programs (programs.test.ts); the site shows the types in them (site/.vitepress/types.ts).
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GIVEN, WITHOUT_PROGRAM } from './given.js';
import { PAGES } from './snippets.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Pages whose blocks are one program, in this order. */
const ONE_PROGRAM = ['entities', 'column-kinds', 'entity-hooks', 'define-entity', 'entity-types', 'time'];
/** Pages whose blocks follow the first block of docs/queries.md. */
const AFTER_QUERIES = ['queries', 'pages', 'collections', 'figures', 'writes'];

/** Before the file that is shown, in a program of several. */
const LAST_FILE = '// @filename: index.ts\n';

export interface Program {
  readonly before: string;
  readonly shown: string;
  readonly after: string;
}

/** A block of TypeScript: the words behind its fence, and its code. */
interface Block {
  readonly info: string;
  readonly code: string;
}

/** The blocks of TypeScript on a page of docs/. */
export function blocksOfPage(page: string): Block[] {
  const text = readFileSync(join(ROOT, 'docs', `${page}.md`), 'utf8');
  return [...text.matchAll(/^```(ts\b.*)\n([\s\S]*?)^```$/gm)].map(([, info, code]) => ({
    info: info!,
    code: code!,
  }));
}

/** The program of a block; undefined if it is no TypeScript, or is compiled elsewhere or not at all (`WITHOUT_PROGRAM`). */
export function programOf(page: string, block: Block): Program | undefined {
  if (!/^ts\b/.test(block.info)) return undefined;
  const region = /region=([\w-]+)/.exec(block.info)?.[1];
  if (region !== undefined) return recipeProgram(page, region, block.code);
  if (!/^[\w-]+$/.test(page)) return undefined;
  const blocks = blocksOfPage(page);
  const at = blocks.findIndex(({ code }) => code === block.code);
  if (at === -1 || WITHOUT_PROGRAM[page]?.includes(at + 1)) return undefined;
  if (isModule(page, block)) return { before: filesBefore(blocks, block), shown: block.code, after: '' };
  if (ONE_PROGRAM.includes(page) && !block.info.includes('no-run')) {
    return withImports(`import { z } from 'zod';\n${codeBefore(page, at)}`, block.code, '');
  }
  const given = `${baseOf(page, blocks[0]!, at)}${GIVEN[`${page}#${at + 1}`] ?? GIVEN[page] ?? ''}`;
  if (/^(import|export) /m.test(block.code)) return withImports(given, block.code, '');
  // Members of a class stand in one; other blocks may declare again what is given.
  const isMembers = block.code.startsWith('@') && !/^(export )?(abstract )?class /m.test(block.code);
  return withImports(`${given}${isMembers ? 'class Given ' : ''}{\n`, block.code, '}\n');
}

/** Whether a block runs as it stands (docs.test.ts). */
const isModule = (page: string, { info }: Block): boolean => PAGES.includes(page) && !info.includes('no-run');

/** The files of the page that a block imports, as files of one program. */
function filesBefore(blocks: readonly Block[], block: Block): string {
  const imported = blocks.flatMap(({ info, code }) => {
    const file = /file=(\S+)\.ts/.exec(info)?.[1];
    return file !== undefined && block.code.includes(`'./${file}.js'`)
      ? [`// @filename: ${file}.ts\n${code}`]
      : [];
  });
  return imported.length === 0 ? '' : `${imported.join('')}${LAST_FILE}`;
}

function codeBefore(page: string, at: number): string {
  const pages = ONE_PROGRAM.slice(0, ONE_PROGRAM.indexOf(page)).flatMap(blocksOfPage);
  return [...pages, ...blocksOfPage(page).slice(0, at)]
    .filter(({ info }) => !info.includes('no-run'))
    .map(({ code }) => code)
    .join('');
}

/** The program that the blocks of a page go on with. */
function baseOf(page: string, first: Block, at: number): string {
  if (AFTER_QUERIES.includes(page))
    return page === 'queries' && at === 0 ? '' : blocksOfPage('queries')[0]!.code;
  return isModule(page, first) && at > 0 ? first.code : '';
}

/** A region of a recipe's program. Pages leave out its import of the recipe tools. */
function recipeProgram(page: string, region: string, shown: string): Program {
  const source = readFileSync(join(ROOT, 'examples', page, 'main.ts'), 'utf8').replaceAll(
    "'../recipe.js'",
    "'./recipe.js'",
  );
  const [, before, own, after] = new RegExp(
    `^([\\s\\S]*)^// #region ${region}\\n([\\s\\S]*?)^// #endregion\\n([\\s\\S]*)$`,
    'm',
  ).exec(source)!;
  const tools = /^import .* from '\.\/recipe\.js';\n/m.exec(own!)?.[0] ?? '';
  return { before: before! + tools, shown, after: after! };
}

/** Imports what a fragment uses of the package and neither imports nor declares. */
function withImports(before: string, shown: string, after: string): Program {
  const [files, own] = parted(before);
  const code = own + shown;
  // What stands in a block of its own hides what is imported.
  const top = after === '' ? code : own;
  const known = new Set<string>();
  const imports = ['index', 'table', 'jobs', 'nestjs'].map((entry) => {
    const used = exportsOf(entry).filter(
      (name) => !known.has(name) && isUsed(name, code) && !isDeclared(name, top),
    );
    for (const name of used) known.add(name);
    const path = entry === 'index' ? 'rowan-orm' : `rowan-orm/${entry}`;
    return used.length === 0 ? '' : `import { ${used.join(', ')} } from '${path}';\n`;
  });
  return { before: files + imports.join('') + own, shown, after };
}

/** The files of a program that are not shown, and the beginning of the one that is. */
function parted(before: string): [string, string] {
  const end = before.lastIndexOf(LAST_FILE);
  return end === -1
    ? ['', before]
    : [before.slice(0, end + LAST_FILE.length), before.slice(end + LAST_FILE.length)];
}

const isUsed = (name: string, code: string): boolean =>
  new RegExp(`(?<![.'\\w])${name}\\b(?!['\\w])`).test(code);

function isDeclared(name: string, code: string): boolean {
  return new RegExp(
    `^(export )?(declare |abstract )*(class|const|let|type|interface|function) ${name}\\b|^const \\{.*\\b${name}\\b.* = |^import .*\\b${name}\\b.* from`,
    'm',
  ).test(code);
}

/** The names that an entry of the built package exports. */
function exportsOf(entry: string): string[] {
  const text = readFileSync(join(ROOT, 'dist', `${entry}.d.ts`), 'utf8');
  return [...text.matchAll(/^export (?:type )?\{ (.*) \}/gm)].flatMap(([, list]) =>
    list!.split(', ').map((item) => item.replace(/^(type )?(.* as )?/, '')),
  );
}
