import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript-js';

/** Takes a feature out of a copy of the sources: its folder, its commands, and what names it where features are named. */

/** Where features are named (docs/extending.md). Elsewhere nothing may know them. */
const PLACES = [
  'src/schema/feature-compilers.ts',
  'src/query/feature-planners.ts',
  'src/ddl/feature-ddl.ts',
  'src/features/registry.ts',
  'src/features/tables.ts',
  'src/database/batch.ts',
  'src/database/schema-tools.ts',
  'src/database/database.ts',
  'src/index.ts',
  'src/cli/commands.ts',
];

/** Removes the folders of features from `root`, and what names them. @returns the files that are removed. */
export function takeAway(root: string, features: readonly string[]): readonly string[] {
  const gone = new Set<string>();
  for (const feature of features) {
    const folder = join('src/features', feature);
    for (const file of sourcesIn(root, folder)) gone.add(file);
    rmSync(join(root, folder), { recursive: true });
  }
  for (const command of sourcesIn(root, 'src/cli/commands')) {
    const source = parsed(root, command);
    if (!source.statements.some((one) => gone.has(importedBy(command, one) ?? ''))) continue;
    gone.add(command);
    rmSync(join(root, command));
  }
  const handles = new Set<string>();
  for (const place of PLACES) {
    const source = parsed(root, place);
    const text = withoutNames(source, place, gone, handles);
    if (text !== source.text) writeFileSync(join(root, place), text);
  }
  return [...gone];
}

function sourcesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));
}

function parsed(root: string, file: string): ts.SourceFile {
  return ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
}

/** The file that an import or export statement names. */
function importedBy(file: string, statement: ts.Statement): string | undefined {
  if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return undefined;
  const specifier = statement.moduleSpecifier;
  return specifier && ts.isStringLiteral(specifier) ? fileOf(file, specifier.text) : undefined;
}

function fileOf(from: string, specifier: string): string {
  return relative('.', resolve(dirname(from), specifier)).replace(/\.js$/, '.ts');
}

/**
 * The text without imports of files that are gone, and without the smallest members, elements and properties that need them.
 * @param handles names of features as `Features` has them: filled by the registry, which comes first.
 */
function withoutNames(
  source: ts.SourceFile,
  file: string,
  gone: ReadonlySet<string>,
  handles: Set<string>,
): string {
  const removed = new Set<ts.Node>();
  const names = new Set<string>();
  for (const statement of source.statements) {
    if (!gone.has(importedBy(file, statement) ?? '')) continue;
    removed.add(statement);
    if (!ts.isImportDeclaration(statement)) continue;
    const bindings = statement.importClause?.namedBindings;
    if (bindings && ts.isNamedImports(bindings))
      for (const { name } of bindings.elements) names.add(name.text);
  }
  const isGone = (node: ts.Node): boolean => {
    if (ts.isIdentifier(node)) {
      const of = node.parent;
      if (ts.isPropertyAccessExpression(of) && of.name === node)
        return handles.has(node.text) && /\bfeatures\.named$/.test(of.expression.getText());
      return names.has(node.text);
    }
    return (
      ts.isStringLiteral(node) &&
      ts.isCallExpression(node.parent) &&
      node.parent.expression.kind === ts.SyntaxKind.ImportKeyword &&
      gone.has(fileOf(file, node.text))
    );
  };
  const visit = (node: ts.Node): void => {
    if (removed.has(node)) return;
    if (ts.isBindingElement(node) && handles.has(node.name.getText()) && bindsFeatures(node)) {
      removed.add(node);
      names.add(node.name.getText());
      return;
    }
    if (isGone(node)) {
      const member = removable(node);
      if (isProperty(member) && file.endsWith('registry.ts')) handles.add(member.name.getText());
      // What needs a variable that is gone is gone as well.
      if (ts.isVariableStatement(member))
        for (const { name } of member.declarationList.declarations) names.add(name.getText());
      removed.add(member);
      return;
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return cutOut(source, removed);
}

/** Whether a name is taken out of `Features`, as a parameter of that type says. */
function bindsFeatures({ parent }: ts.BindingElement): boolean {
  return ts.isParameter(parent.parent) && parent.parent.type?.getText() === 'Features';
}

function isProperty(node: ts.Node): node is ts.PropertyAssignment | ts.ShorthandPropertyAssignment {
  return ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node);
}

function removable(node: ts.Node): ts.Node {
  for (let at = node; ; at = at.parent) {
    if (
      ts.isClassElement(at) ||
      ts.isTypeElement(at) ||
      isProperty(at) ||
      ts.isSpreadAssignment(at) ||
      ts.isExpressionWithTypeArguments(at)
    ) {
      // A property of an element of a list: the element is of the feature.
      const list = at.parent?.parent;
      return list && ts.isArrayLiteralExpression(list) ? at.parent : at;
    }
    if (ts.isArrayLiteralExpression(at.parent)) return at;
    if (ts.isStatement(at)) {
      // The only statement of a method: the method is of the feature.
      const method = at.parent.parent;
      return ts.isMethodDeclaration(method) && method.body!.statements.length === 1 ? method : at;
    }
  }
}

function cutOut(source: ts.SourceFile, removed: ReadonlySet<ts.Node>): string {
  let text = source.text;
  const outermost = [...removed].filter((node) => {
    for (let at = node.parent; at !== undefined; at = at.parent) if (removed.has(at)) return false;
    return true;
  });
  for (const node of outermost.sort((a, b) => b.pos - a.pos)) {
    const comma = /^\s*,/.exec(text.slice(node.end));
    let start = node.pos;
    if (comma === null) {
      // The last of its list: the comma before it goes.
      const before = /,\s*$/.exec(text.slice(0, start));
      if (before !== null) start -= before[0].length;
    }
    text = text.slice(0, start) + text.slice(node.end + (comma?.[0].length ?? 0));
  }
  return text.replace(/\s+extends\s*\{/g, ' {');
}
