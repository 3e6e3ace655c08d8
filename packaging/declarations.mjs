/** Bundles the declarations that the compiler left in `build` into `dist`: a file for each entry, and one that these share. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import ts from 'typescript-js';

/** Bundles `input`, declaration files by the names of their entries. `isExternal` as Rollup's `external`. */
export async function bundleDeclarations({ input, isExternal, folder, dist }) {
  const entries = Object.values(input);
  const bundle = await rollup({
    input,
    external: isExternal,
    plugins: [withoutUnusable(folder, entries), dts()],
    onLog(level, log) {
      // Types that a signature names and no entry exports: the listing of the interface (test/api) decides on these.
      if (!/private shared type exports/.test(log.message)) console.warn(`${level}: ${log.message}`);
    },
  });
  await bundle.write({
    dir: dist,
    format: 'es',
    entryFileNames: '[name].d.ts',
    chunkFileNames: 'chunk-[name].d.ts',
    // `@Table` and the interface `Table` have one name, as have `@Required` and a type of TypeScript. Editors show a name as it stands
    // in its file, so those decorators are left in that of the entry.
    manualChunks: (id) => {
      if (id === input.index || /\/decorators\/(table|column)\.d\.ts$/.test(id)) return 'index';
      return entries.includes(id) ? undefined : 'types';
    },
  });
  await bundle.close();
}

const parsed = (path, text) => ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);

/** The classes of a file, each with the name of the class that it extends. */
function* classesOf(file) {
  for (const node of file.statements.filter(ts.isClassDeclaration)) {
    const base = node.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword);
    yield { node, name: node.name.text, base: base?.types[0].expression.getText(file) };
  }
}

/** What an entry exports not only as a type, by the names in the files that declare it. */
function* valuesOf(file) {
  for (const node of file.statements) {
    if (ts.isExportDeclaration(node) && !node.isTypeOnly) {
      const names = node.exportClause.elements.filter(({ isTypeOnly }) => !isTypeOnly);
      yield* names.map(({ name, propertyName }) => (propertyName ?? name).text);
    } else if (ts.isClassDeclaration(node)) yield node.name.text;
  }
}

/**
 * Leaves out what only a call of `new` and a class that extends can use, where users can write neither: constructors and protected
 * members of classes that are no values of an entry, nor bases of such. With them go the types that nothing else names, a third of the
 * text that every compiler and editor would read.
 */
function withoutUnusable(folder, entries) {
  const usable = new Set();
  return {
    name: 'without-unusable',
    buildStart() {
      const bases = new Map();
      for (const path of readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.d.ts'))) {
        if (!/^(src|decorators)\//.test(path)) continue;
        for (const { name, base } of classesOf(parsed(path, readFileSync(join(folder, path), 'utf8'))))
          if (base !== undefined) bases.set(name, [...(bases.get(name) ?? []), base]);
      }
      const use = (name) => {
        if (usable.has(name)) return;
        usable.add(name);
        for (const base of bases.get(name) ?? []) use(base);
      };
      for (const path of entries)
        for (const name of valuesOf(parsed(path, readFileSync(path, 'utf8')))) use(name);
    },
    transform(code, id) {
      const unusable = [...classesOf(parsed(id, code))]
        .filter(({ name }) => !usable.has(name))
        .flatMap(({ node }) => node.members)
        .filter(
          (member) =>
            ts.isConstructorDeclaration(member) ||
            member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ProtectedKeyword),
        );
      const left = unusable.reduceRight((text, { pos, end }) => text.slice(0, pos) + text.slice(end), code);
      return { code: left, map: null };
    },
  };
}
