import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const PACKAGE = JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-loading-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** What the program prints as JSON; `required()` gives the names of the packages of CommonJS that are loaded. */
function told(body: string): unknown {
  const program = `
    import { createRequire } from 'node:module';
    const { cache } = createRequire(import.meta.url);
    const required = () => [...new Set(Object.keys(cache).map((path) => path.split('node_modules/').at(-1).split('/')[0]))];
    const rowan = await import(${PACKAGE});
    const { boolean, defineEntity, defineTable, open, part, text } = rowan;
    ${body}`;
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8', cwd: folder }),
  );
}

it('an import loads no package, and neither do an opening, a write and a read; toPlain loads class-transformer', () => {
  const found = told(`
    const Note = defineEntity({
      name: 'Note',
      table: defineTable({ name: 'notes', families: { d: {} } }),
      key: [part('id', text)],
      columns: (c) => ({ done: c.column('d:d', boolean) }),
    });
    const seen = { imported: required() };
    const db = await open({ path: 'store', entities: [Note] });
    const notes = db.repository(Note);
    await notes.put({ id: 'a', done: true });
    await notes.get({ id: 'a' });
    seen.read = required();
    notes.toPlain({ id: 'a', done: true });
    seen.shown = required();
    await db.close();
    console.log(JSON.stringify(seen));`);
  expect(found).toEqual({
    imported: [],
    read: [],
    shown: ['class-transformer'],
  });
});

it('metadata of classes is shared with the copy of reflect-metadata that a program loads after it', () => {
  const found = told(`
    createRequire(${PACKAGE})('reflect-metadata');
    class Note {}
    rowan.Table({ name: 'notes', families: { d: {} } })(Note);
    Reflect.defineMetadata('own', 1, Note);
    console.log(JSON.stringify([Reflect.getOwnMetadata('own', Note), Reflect.getOwnMetadataKeys(Note).includes('rowan:declaration')]));`);
  expect(found).toEqual([1, true]);
});
