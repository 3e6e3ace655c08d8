/**
 * Editors show the types of results by their properties, never by the name of a helper type. The sample imports the
 * published declaration files, as a user's module does.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-js';
import { describe, expect, it } from 'vitest';
import { CACHE, consumerFolder, ROOT } from './compiler.js';

consumerFolder('hovers');

const FILE = join(CACHE, 'hovers/sample.ts');

const SAMPLE = `
import { Column, decimal, Entity, open, Reference, References, type Related, rowKey, summary, text } from 'rowan-orm';

@Entity({ table: { name: 'customers', families: { d: {} } } })
class Customer {
  static readonly key = rowKey('id');
  id!: string;
  @Column('d:n', text) name!: string;
  @References(() => Ticket, { tenant: 'id' }) tickets?: Related<Ticket[]>;
}

@Entity({ table: { name: 'tickets', families: { d: {} } } })
class Ticket {
  static readonly key = rowKey('tenant', 'no');
  static readonly summaries = { perStatus: summary({ by: ['status'], figures: { rows: 'count', sum: { sum: 'total' } } }) };
  tenant!: string;
  no!: string;
  @Column('d:s', text) status!: string;
  @Column('d:m', text) mail?: string | null;
  @Column('d:t', decimal(2)) total!: string;
  @Column('d:c', text) customerId!: string;
  @Reference(() => Customer, { id: 'customerId' }) customer?: Related<Customer> | null;
}

const db = await open({ path: 'hovers', entities: [Ticket, Customer] });
const tickets = db.repository(Ticket);
const find = tickets.find({ tenant: 'a' });

export const figures = await db.summary(Ticket, 'perStatus').get({ status: 'open' });
export const selected = await find.select('status', 'mail').all();
export const shaped = await tickets.get({ tenant: 'a', no: 'b' }, { select: ['mail'], with: ['customer'] });
export const narrow = await tickets.get({ tenant: 'a', no: 'b' }, { select: ['mail'] });
export const grouped = await find.groupBy('status').count();
export const aggregated = await find.aggregate((on) => ({ rows: on.count(), sum: on.sum('total') }));
export const related = await find.select('status').with('customer').all();
export const counted = await db.repository(Customer).find({ id: 'a' }).select('name').withCounts({ open: 'tickets' }).all();
`;

const EXPECTED: Readonly<Record<string, string>> = {
  figures: '{ status: string; rows: number; sum: string; } | null',
  selected: '{ tenant: string; no: string; status: string; mail?: string | null; }[]',
  shaped: '{ tenant: string; no: string; mail?: string | null; customer: Customer | null; } | null',
  narrow: '{ tenant: string; no: string; mail?: string | null; } | null',
  grouped: '{ status: string; count: number; }[]',
  aggregated: '{ rows: number; sum: string; }',
  related: '{ tenant: string; no: string; status: string; customer: Customer | null; }[]',
  counted: '{ name: string; id: string; open: number; }[]',
};

function languageService(): ts.LanguageService {
  const config = ts.getParsedCommandLineOfConfigFile(join(ROOT, 'tsconfig.json'), {}, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
      throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
    },
  } satisfies ts.ParseConfigFileHost);
  const read = (file: string): string | undefined => (file === FILE ? SAMPLE : ts.sys.readFile(file));
  return ts.createLanguageService({
    getScriptFileNames: () => [FILE],
    getScriptVersion: () => '1',
    getScriptSnapshot: (file) => {
      const text = read(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => ROOT,
    // The paths of the repository lead to the source. Half of what there is to read would be types of Node, which no hover has.
    getCompilationSettings: () => ({ ...config!.options, paths: {}, types: [] }),
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: (file) => file === FILE || ts.sys.fileExists(file),
    readFile: read,
  });
}

describe('hovers', () => {
  const service = languageService();

  it('have a sample without errors', () => {
    const messages = service
      .getSemanticDiagnostics(FILE)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
    expect(messages).toEqual([]);
  });

  it.each(Object.entries(EXPECTED))('show the properties of %s', (name, type) => {
    const at = SAMPLE.indexOf(`const ${name} =`) + 'const '.length;
    const shown = ts.displayPartsToString(service.getQuickInfoAtPosition(FILE, at)?.displayParts);
    expect(shown.replace(/\s+/g, ' ')).toBe(`const ${name}: ${type}`);
  });

  it('call public types by their names: the bundler numbers names that two declarations of a file have', () => {
    const files = readdirSync(join(ROOT, 'dist')).filter((name) => name.endsWith('.d.ts'));
    const numbered = files.flatMap((name) => {
      const text = readFileSync(join(ROOT, 'dist', name), 'utf8');
      return [...text.matchAll(/^export .*$/gm)].flatMap(([line]) => line.match(/\w+\$\d+(?= as )/g) ?? []);
    });
    expect(numbered).toEqual([]);
  });

  it('come with completions: select offers the columns', () => {
    const at = SAMPLE.indexOf("status').with");
    const names = service.getCompletionsAtPosition(FILE, at, {})?.entries.map(({ name }) => name);
    expect(names?.sort()).toEqual(['customerId', 'mail', 'status', 'total']);
  });
});
