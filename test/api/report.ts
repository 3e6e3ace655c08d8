/**
 * The public interface as text: what each entry of the package exports, with its signature, from declaration files
 * made for it. Comments and what is private are left out, so that the text changes when the interface does.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript-js';
import { declarations } from '../types/declarations.js';

export const ROOT: string = fileURLToPath(new URL('../../', import.meta.url));

/** Sources of the package's entries, by the names of their files in `dist`. */
const SOURCES = JSON.parse(readFileSync(join(ROOT, 'packaging/entries.json'), 'utf8')) as Readonly<
  Record<string, string>
>;

/** An entry of the package, `rowan-orm/table`, with its source. */
interface Entry {
  readonly name: string;
  /** Its path in the repository. */
  readonly source: string;
}

/** The entries that package.json declares. */
export function entries(): Entry[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly exports: Readonly<Record<string, string | { readonly types?: string }>>;
  };
  return Object.entries(manifest.exports).flatMap(([path, target]) => {
    if (typeof target === 'string' || target.types === undefined) return [];
    const source = SOURCES[target.types.replace(/^.\/dist\//, '').replace(/\.d\.ts$/, '')]!;
    return [{ name: `${manifest.name}${path.slice(1)}`, source }];
  });
}

/** Where the listing of an entry is kept. */
export function reportPath(entry: Entry): string {
  return join(ROOT, 'docs/api', `${entry.name.replaceAll('/', '-')}.md`);
}

export interface Report {
  readonly entry: Entry;
  readonly text: string;
  /** The names of the exports. */
  readonly names: readonly string[];
  /** Types of the package that signatures mention and no entry exports. */
  readonly unnamed: readonly string[];
}

/** The listings of all entries, from one program. @throws what the compiler says when the source does not compile. */
export function reports(): Report[] {
  const folder = declarations();
  const all = entries();
  const typesOf = ({ source }: Entry): string => join(folder, source.replace(/\.ts$/, '.d.ts'));
  const program = ts.createProgram(all.map(typesOf), {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    noLib: true,
    types: [],
    skipLibCheck: true,
    strict: true,
  });
  const checker = program.getTypeChecker();
  const exported = new Map<ts.Symbol, string>();
  const lists = all.map((entry) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(typesOf(entry))!)!;
    const symbols = checker
      .getExportsOfModule(module)
      .map((symbol) => [symbol.name, target(symbol)] as const);
    for (const [, symbol] of symbols) exported.set(symbol, entry.name);
    return symbols.sort(([a], [b]) => (a < b ? -1 : 1));
  });

  function target(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  }

  /** Adds the package's own types that a declaration names, but for those it declares as parameters. */
  function mentioned(node: ts.Node, found: Set<string>): void {
    if (isPrivate(node)) return;
    const name = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node)
        ? node.expression
        : undefined;
    const symbol = name === undefined ? undefined : checker.getSymbolAtLocation(name);
    if (symbol !== undefined) {
      const real = target(symbol);
      const file = real.declarations?.[0]?.getSourceFile().fileName ?? '';
      const own = file.startsWith(folder);
      if (own && !(real.flags & ts.SymbolFlags.TypeParameter) && !exported.has(real)) {
        found.add(real.name);
      }
    }
    ts.forEachChild(node, (child) => mentioned(child, found));
  }

  return lists.map((symbols, index) => {
    const unnamed = new Set<string>();
    const texts = symbols.map(([name, symbol]) => {
      const declarations = symbol.declarations ?? [];
      for (const declaration of declarations) mentioned(declaration, unnamed);
      return declarations.map((declaration) => signature(name, declaration)).join('\n');
    });
    const entry = all[index]!;
    return {
      entry,
      names: symbols.map(([name]) => name),
      unnamed: [...unnamed].sort(),
      text: `# ${entry.name}\n\nEvery export with its signature. Made of the declaration files; a test compares it.\n\n\`\`\`ts no-run\n${texts.join('\n')}\n\`\`\`\n${inner([...unnamed].sort())}`,
    };
  });
}

/** What signatures mention and nobody can name: to be kept short, and free of what a user would want to write. */
function inner(names: readonly string[]): string {
  if (names.length === 0) return '';
  return `\nMentioned above and not exported:\n\n${names.map((name) => `- \`${name}\`\n`).join('')}`;
}

function isPrivate(node: ts.Node): boolean {
  if (!ts.canHaveModifiers(node)) return false;
  return (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword);
}

const printer = ts.createPrinter({ removeComments: true, newLine: ts.NewLineKind.LineFeed });

/** The text of a declaration without comments and private members, under the name it is exported by. */
function signature(name: string, declaration: ts.Declaration): string {
  const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  const stripped = ts.transform(statement, [
    (context) => (root) => {
      const visit = (node: ts.Node): ts.Node | undefined =>
        isPrivate(node) ? undefined : ts.visitEachChild(node, visit, context);
      return ts.visitEachChild(root, visit, context);
    },
  ]).transformed[0]!;
  const text = printer.printNode(ts.EmitHint.Unspecified, stripped, declaration.getSourceFile());
  const own = (declaration as ts.NamedDeclaration).name?.getText();
  const renamed = own === undefined || own === name ? '' : ` // exported as ${name}`;
  return text.replace(/^export /, '').replace(/^declare /, '') + renamed;
}
