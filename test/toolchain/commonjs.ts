/** What is held of CommonJS: what the compilers say of an import, and an application of NestJS that is tested by Jest. */

import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HERE, own, ROOT } from './builds.js';
import { APP, type Consumer, guide, outcome } from './consumers.js';

const JEST = join(HERE, 'node_modules/jest/bin/jest.js');
const CURRENT = join(ROOT, 'node_modules/typescript/bin/tsc');
const OLDEST = join(HERE, 'node_modules/typescript-oldest/bin/tsc');

/** A new folder of the application with a package.json of its own. */
export function project(name: string, type: 'commonjs' | 'module'): string {
  const folder = join(APP, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, private: true, type }));
  return folder;
}

/** The block of a guide that is marked as this file. */
export function blockOf(page: string, info: string): string {
  const block = guide(page).split(`\`\`\`${info}\n`)[1];
  if (block === undefined) throw new Error(`docs/${page}.md has no block "${info}".`);
  return block.split('\n```')[0]!;
}

/** The guide's recipe of Jest, for a CommonJS project or for one of modules. */
function recipe(folder: string, name: 'jest.config.cjs' | 'jest.config.js'): string {
  const start = `// ${name}\n`;
  const code = guide('bundling').split(start)[1]!.split('\n```')[0]!;
  const path = join(folder, name);
  writeFileSync(path, code.replace("'@swc/jest'", JSON.stringify(own.resolve('@swc/jest'))));
  return path;
}

const COMPRESSED = `
import { readBack } from './compressions.js';

test('rows of each compression are read again', async () => {
  expect(await readBack()).toBe('KeptSNAPPY KeptLZ4 KeptZSTD');
});
`;

async function jest(type: 'commonjs' | 'module'): Promise<string | undefined> {
  const folder = project(`jest-${type}`, type);
  const config = recipe(folder, type === 'commonjs' ? 'jest.config.cjs' : 'jest.config.js');
  for (const name of ['models.ts', 'jest.test.ts']) {
    writeFileSync(join(folder, name), blockOf('testing', `ts file=${name}`));
  }
  // In Jest's own modules the packages of compressions have to be found, too.
  cpSync(join(HERE, 'fixtures/compressions.ts'), join(folder, 'compressions.ts'));
  writeFileSync(join(folder, 'compressions.test.ts'), COMPRESSED);
  const flags = type === 'module' ? ['--experimental-vm-modules'] : [];
  return outcome([...flags, JEST, '--rootDir', folder, '--config', config]);
}

export function tsconfig(folder: string, options: object, files: readonly string[]): string {
  const path = join(folder, 'tsconfig.json');
  // Declarations as a whole are checked by the README's five minutes.
  const compilerOptions = { target: 'es2022', strict: true, skipLibCheck: true, types: ['node'], ...options };
  writeFileSync(path, JSON.stringify({ compilerOptions, files }));
  return path;
}

/** What the guide says of TS1479: where it comes, where it does not, and what is written instead. */
async function imports(): Promise<string | undefined> {
  const folder = project('commonjs', 'commonjs');
  writeFileSync(join(folder, 'static.ts'), "import { open } from 'rowan-orm';\nconsole.log(typeof open);\n");
  writeFileSync(join(folder, 'dynamic.ts'), blockOf('bundling', 'ts no-run file=dynamic.cts'));
  const compile = (tsc: string, module: string, file: string) =>
    outcome([tsc, '-p', tsconfig(folder, { module, outDir: join(folder, 'out') }, [file])]);
  for (const [tsc, module] of [
    [OLDEST, 'nodenext'],
    [CURRENT, 'node16'],
  ] as const) {
    const said = await compile(tsc, module, 'static.ts');
    if (!said?.includes('TS1479')) return `no TS1479 under ${module}: ${said}`;
  }
  return (
    (await compile(OLDEST, 'node16', 'dynamic.ts')) ??
    (await outcome([join(folder, 'out/dynamic.js')], 'function')) ??
    (await compile(CURRENT, 'node20', 'static.ts')) ??
    (await compile(CURRENT, 'nodenext', 'static.ts')) ??
    (await outcome([join(folder, 'out/static.js')], 'function'))
  );
}

const NEST = ['note.ts', 'note.controller.ts', 'app.module.ts', 'app.spec.ts'];

/** Starts the compiled application on a store on the disk, asks it, and has it end by a signal while a feed is read. */
const MAIN = `
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: false });
  await app.listen(0, '127.0.0.1');
  const url = \`\${await app.getUrl()}/notes/n1\`;
  const headers = { 'content-type': 'application/json' };
  await fetch(url, { method: 'PUT', headers, body: JSON.stringify({ title: 'Started' }) });
  const note = await (await fetch(url)).text();
  app.enableShutdownHooks(['SIGTERM']);
  const { body } = await fetch(\`\${await app.getUrl()}/notes/changes\`);
  const reader = body!.getReader();
  const first = reader.read();
  await new Promise((resolve) => setTimeout(resolve, 200));
  await fetch(url, { method: 'PUT', headers, body: JSON.stringify({ title: 'Changed' }) });
  await first;
  setTimeout(() => {
    console.log('It did not end within 10 s.');
    process.exit(1);
  }, 10_000).unref();
  // NestJS ends itself by the signal once more when all is closed.
  const kill = process.kill.bind(process);
  process.kill = (pid, signal) => {
    console.log(note);
    process.exit(0);
  };
  kill(process.pid, 'SIGTERM');
  while (!(await reader.read()).done);
}
void main();
`;

function nestProject(): string {
  const folder = project('nest', 'commonjs');
  for (const name of NEST) {
    writeFileSync(join(folder, name), blockOf('nestjs', `ts no-run file=${name}`));
  }
  writeFileSync(join(folder, 'main.ts'), MAIN);
  // Beside the package, which imports @nestjs/common.
  for (const name of ['@nestjs', 'rxjs']) {
    const link = join(APP, 'node_modules', name);
    if (!existsSync(link)) symlinkSync(join(HERE, 'node_modules', name), link, 'junction');
  }
  return folder;
}

async function nestStarts(): Promise<string | undefined> {
  const folder = nestProject();
  const options = {
    module: 'nodenext',
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    outDir: join(folder, 'out'),
    rootDir: folder,
  };
  return (
    (await outcome([CURRENT, '-p', tsconfig(folder, options, ['main.ts'])])) ??
    (await outcome([join(folder, 'out/main.js')], '{"id":"n1","title":"Started"}', folder))
  );
}

async function nestTests(): Promise<string | undefined> {
  const folder = join(APP, 'nest');
  const config = recipe(folder, 'jest.config.cjs');
  return outcome([JEST, '--rootDir', folder, '--config', config, '--testMatch', '**/*.spec.ts']);
}

export const COMMONJS: readonly Consumer[] = [
  {
    name: 'require',
    check: () =>
      outcome(
        ['--eval', 'console.log(typeof require("rowan-orm").open)', '--input-type=commonjs'],
        'function',
      ),
  },
  { name: 'TS1479: where it comes, and the ways out', check: imports },
  { name: 'Jest in a CommonJS project', check: () => jest('commonjs') },
  { name: 'Jest in a project of ECMAScript modules', check: () => jest('module') },
  { name: 'an application of NestJS, compiled as CommonJS and started', check: nestStarts },
  { name: 'its test by Jest', check: nestTests },
];
