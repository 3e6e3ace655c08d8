/** Types on hover: blocks of pages that are part of a tested program are compiled with it, against the package's declarations. */

import { fileURLToPath } from 'node:url';
import { transformerTwoslash } from '@shikijs/vitepress-twoslash';
import { createTwoslasher, type TwoslashNode } from 'twoslash';
import ts from 'typescript';
import type { MarkdownRenderer } from 'vitepress';
import { type Program, programOf } from '../../test/docs/programs.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What a hover would only repeat: what is declared right there, plain types, literals, codecs, the tools of recipes. */
const PLAIN = [
  /^(var|class|interface|namespace|module) /,
  /^\((property|parameter|getter)\) [^:]*: ((string|number|bigint|boolean|Date|Uint8Array|null|undefined| \| )+|"[^"]*"|\d+)$/,
  /^\(alias\) const \w+: ScalarCodec</,
  /^await using recipe|^\(method\) Recipe\./,
];

/** The longest type that a hover shows: longer ones cannot be read, and make pages of megabytes. */
const LONGEST = 600;

const twoslasher = createTwoslasher({
  // Programs stand where the package finds itself by its name, and the recipes their tools.
  vfsRoot: `${ROOT}examples/cookbook`,
  compilerOptions: {
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    moduleDetection: ts.ModuleDetectionKind.Force,
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    experimentalDecorators: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [`${ROOT}node_modules/@types`],
  },
  // Tests have compiled the programs (test/docs/programs.test.ts).
  handbookOptions: { noErrors: true },
});

/** The hovers worth their bytes: a type that repeats in a block is shown once, with the first paragraph of its comment. */
function worthShowing(nodes: readonly TwoslashNode[]): TwoslashNode[] {
  const shown = new Set<string>();
  return nodes.flatMap((node) => {
    if (node.type !== 'hover') return [node];
    const { text } = node;
    if (text.length > LONGEST || shown.has(text) || PLAIN.some((plain) => plain.test(text))) return [];
    shown.add(text);
    return [{ ...node, docs: node.docs?.split('\n\n')[0], tags: undefined }];
  });
}

/** The transformer of blocks that `showsTypes` has marked. */
export const typesOnHover = transformerTwoslash({
  // The options that come with a block are those of bundlers.
  twoslasher(code, language) {
    const result = twoslasher(code, language);
    return { code: result.code, meta: result.meta, nodes: worthShowing(result.nodes) };
  },
});

/** Marks the blocks that get types, and gives the transformer the program around each. The search index keeps the plain blocks. */
export function showsTypes(md: MarkdownRenderer): void {
  const fence = md.renderer.rules.fence!;
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index]!;
    const page = pageOf(env.relativePath);
    const program =
      env.isForSearch === true ? undefined : programOf(page, { info: token.info, code: token.content });
    if (program === undefined) return fence(tokens, index, options, env, self);
    const marked = Object.assign(Object.create(token), { info: 'ts twoslash', content: cut(program) });
    return fence(tokens.with(index, marked), index, options, env, self);
  };
}

/** The name of a page's file: the site's `index.md` is a folder's `README.md`. */
const pageOf = (path: string): string => path.replace(/\bindex\.md$/, 'README.md').replace(/\.md$/, '');

/** The program with the marks between which it is shown. */
function cut({ before, shown, after }: Program): string {
  return `${before}\n// ---cut-before---\n${shown}// ---cut-after---\n${after}`;
}
