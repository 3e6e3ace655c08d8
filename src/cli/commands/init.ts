/** `rowan init [folder]`: creates a project with an entity, a program and a test (docs/getting-started.md). */

import { existsSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { InvalidArgumentError } from '../../errors.js';
import { makeFolder } from '../../folders.js';
import { CURRENT_FILE } from '../../store/fs/index.js';
import { type CliContext, packageVersion } from '../context.js';

type EngineName = 'embedded' | 'hbase';

const ENGINES: readonly EngineName[] = ['embedded', 'hbase'];

interface InitFlags {
  readonly engine?: EngineName;
  readonly name?: string;
  readonly yes?: boolean;
}

export function addInitCommand(program: Command, context: CliContext): void {
  program
    .command('init')
    .description('Makes a new project: package.json, tsconfig.json, an entity, a program and a test.')
    .argument('[folder]', 'where to; it is created if need be. Default: the present folder')
    .addOption(
      new Option(
        '--engine <engine>',
        'where the data is: a store in a folder, or an HBase cluster. Default: embedded',
      ).choices(ENGINES),
    )
    .option('--name <name>', 'name of the package; default: that of the folder')
    .option('--yes', 'ask nothing: take the defaults of what is not given')
    .action(async (given: string | undefined, flags: InitFlags) => {
      const { folder, engine, name } = await answers(given, flags, context);
      const root = resolve(folder);
      if (existsSync(join(root, CURRENT_FILE))) {
        throw new InvalidArgumentError(
          `${root} is the folder of a store, which holds nothing else. Nothing was written: give another folder. The store of a project is in a folder within it.`,
        );
      }
      const files = projectFiles(name, engine);
      const present = Object.keys(files).filter((path) => existsSync(join(root, path)));
      if (present.length > 0) {
        throw new InvalidArgumentError(
          `${root} has ${present.join(', ')} already. Nothing was written: give a new folder, or install rowan-orm into the project that is there.`,
        );
      }
      for (const [path, text] of Object.entries(files)) {
        makeFolder(dirname(join(root, path)));
        writeFileSync(join(root, path), text);
        context.write(`${path}\n`);
      }
      const enter = root === process.cwd() ? '' : `  cd ${folder}\n`;
      context.write(`\nNext:\n${enter}  npm install\n  npm test\n  npm start\n`);
    });
}

/** The options as given. A terminal is asked for the others; without one they have their defaults. */
async function answers(
  given: string | undefined,
  { engine, name, yes }: InitFlags,
  { ask }: CliContext,
): Promise<{ readonly folder: string; readonly engine: EngineName; readonly name: string }> {
  const answer = async (question: string, byDefault: string): Promise<string> => {
    if (ask === undefined || yes === true) return byDefault;
    const text = (await ask(`${question} (${byDefault}): `)).trim();
    return text === '' ? byDefault : text;
  };
  const folder = given ?? (await answer('Folder of the project', '.'));
  const chosen = engine ?? (await answer(`Engine: ${ENGINES.join(' or ')}`, 'embedded'));
  const known = ENGINES.find((each) => each === chosen);
  if (known === undefined) {
    throw new InvalidArgumentError(
      `There is no engine "${chosen}". Nothing was written: answer ${ENGINES.join(' or ')}.`,
    );
  }
  const ofFolder = packageName(basename(resolve(folder)));
  return { folder, engine: known, name: name ?? (await answer('Name of the package', ofFolder)) };
}

/** A name that npm takes, as close to the folder's as it can be. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9._~-]+/g, '-')
    .replace(/^[-._~]+|[-._~]+$/g, '');
  return name === '' ? 'rowan-app' : name;
}

function projectFiles(name: string, engine: EngineName): Readonly<Record<string, string>> {
  const manifest = {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    scripts: {
      build: 'tsc',
      start: 'npm run build && node dist/main.js',
      test: 'npm run build && node --test dist/task.test.js',
      lint: 'npm run build && rowan lint dist/task.js',
    },
    dependencies: { 'rowan-orm': `^${packageVersion()}` },
    devDependencies: { '@types/node': '^20.19.0', typescript: '>=5.7.0' },
  };
  const compiler = {
    compilerOptions: {
      module: 'nodenext',
      target: 'es2022',
      strict: true,
      types: ['node'],
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      rootDir: 'src',
      outDir: 'dist',
    },
    include: ['src'],
  };
  return {
    'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
    'tsconfig.json': `${JSON.stringify(compiler, null, 2)}\n`,
    '.gitignore': 'node_modules/\ndist/\ndata/\n',
    'src/task.ts': ENTITY,
    'src/database.ts': DATABASES[engine],
    'src/main.ts': MAIN,
    'src/task.test.ts': TEST,
  };
}

const ENTITY = `import { Column, date, Entity, index, part, rowKey, Table, text } from 'rowan-orm';

@Table({ name: 'tasks', families: { d: { dataBlockEncoding: 'FAST_DIFF' } } })
export class Tasks {}

/** Tasks of a project are adjacent, in the order of their ids. */
@Entity({ table: Tasks })
export class Task {
  static readonly key = rowKey(part('project', text), part('id', text));
  static readonly indexes = { byStatus: index('status', 'project') };
  project!: string;
  id!: string;
  @Column('d:t', text) title!: string;
  @Column('d:s', text) status!: string;
  @Column('d:d', date) dueAt?: Date | null;
}
`;

const DATABASES: Readonly<Record<EngineName, string>> = {
  embedded: `import { open } from 'rowan-orm';
import { Task } from './task.js';

/** A store in a folder, which one process writes. */
export const openDatabase = () => open({ path: process.env.DATA ?? 'data', entities: [Task] });
`,
  hbase: `import { connect } from 'rowan-orm';
import { Task } from './task.js';

const masters = (process.env.HBASE_MASTERS ?? 'localhost:16000').split(',');

/** A cluster, on which missing tables are created. */
export const openDatabase = () => connect({ masters, entities: [Task], tables: 'create' });
`,
};

const MAIN = `import { openDatabase } from './database.js';
import { Task } from './task.js';

const db = await openDatabase();
try {
  const tasks = db.repository(Task);
  await tasks.put({ project: 'docs', id: 't1', title: 'Read the guide', status: 'open' });
  for (const { id, title } of await tasks.find({ project: 'docs' }).all()) console.log(id, title);
  console.log('open:', await tasks.where({ status: 'open' }).count());
} finally {
  await db.close();
}
`;

const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMemory } from 'rowan-orm/testing';
import { Task } from './task.js';

test('open tasks are found in every project', async () => {
  const db = await openMemory({ entities: [Task] });
  try {
    const tasks = db.repository(Task);
    await tasks.put({ project: 'a', id: '1', title: 'One', status: 'open' });
    await tasks.put({ project: 'a', id: '2', title: 'Two', status: 'done' });
    await tasks.put({ project: 'b', id: '1', title: 'Three', status: 'open' });
    const open = await tasks.where({ status: 'open' }).all();
    assert.deepEqual(
      open.map(({ title }) => title),
      ['One', 'Three'],
    );
  } finally {
    await db.close();
  }
});
`;
