import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type ClassPathName, classPath, run } from './class-path.js';
import { MODULE_FLAGS, TOOL_PATIENCE } from './jvm.js';
import { HBASE_HOME, type InstanceLayout } from './layout.js';
import { FILE_SYSTEM } from './settings.js';

/**
 * Runs the main class of a tool of HBase, with the configuration of an instance, and answers what it printed.
 * @throws Error with that when it fails.
 */
export async function runTool(
  layout: InstanceLayout,
  mainClass: string,
  args: readonly string[],
): Promise<string> {
  return runMain(layout, mainClass, args, [await classPath('server')]);
}

/**
 * Compiles Java sources against the jars of one of HBase's versions with javac, and runs a class of them with the configuration of an
 * instance.
 * @throws Error with what javac, or the program, printed when it fails.
 */
export async function runJava(
  layout: InstanceLayout,
  sources: Readonly<Record<string, string>>,
  mainClass: string,
  args: readonly string[] = [],
  version: ClassPathName = 'server',
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-java-'));
  try {
    await compileJava(sources, folder, version);
    return await runMain(layout, mainClass, args, [folder, await classPath(version)]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Compiles Java sources, by name, into a folder, against the jars of one of HBase's versions.
 * @throws Error with what javac printed when it fails.
 */
export async function compileJava(
  sources: Readonly<Record<string, string>>,
  folder: string,
  version: ClassPathName = 'server',
): Promise<void> {
  const files = Object.entries(sources).map(([name, text]) => ({ path: join(folder, `${name}.java`), text }));
  for (const { path, text } of files) await writeFile(path, text);
  // What an older version has is deprecated in a newer one.
  const lint = version === 'server' ? '-Xlint:all,-processing,-path,-classfile' : '-Xlint:none';
  const flags = [lint, '-Werror', '-cp', await classPath(version), '-d', folder];
  const { code, output } = await run('javac', [...flags, ...files.map(({ path }) => path)]);
  if (code === 127) throw new Error('There is no javac on the PATH: install a JDK, not only a JRE.');
  if (code !== 0) throw new Error(`javac ended with code ${code}:\n${output}`);
}

let compiled: Promise<string> | undefined;

/** The folder with the classes of `QuickLocalFileSystem.java`, which are compiled when they are not there. */
export function fileSystemClasses(): Promise<string> {
  compiled ??= (async () => {
    const source = await readFile(new URL(`./${FILE_SYSTEM}.java`, import.meta.url), 'utf8');
    const hash = createHash('sha256').update(source).digest('hex').slice(0, 12);
    const folder = join(HBASE_HOME, 'file-system', hash);
    if (existsSync(folder)) return folder;
    const made = `${folder}.${process.pid}`;
    await mkdir(made, { recursive: true });
    await compileJava({ [FILE_SYSTEM]: source }, made);
    // Another process may have been faster.
    await rename(made, folder).catch(() => rm(made, { recursive: true }));
    return folder;
  })();
  return compiled;
}

/** Runs one of HBase's jobs like a tool, in the one process (Hadoop's LocalJobRunner). */
export async function runHBaseJob(
  layout: InstanceLayout,
  name: string,
  args: readonly string[],
): Promise<string> {
  const jars = [await classPath('jobs'), await classPath('server')];
  const settings = [`-Dhadoop.tmp.dir=${layout.tmp}`, '-Dmapreduce.framework.name=local'];
  return runMain(layout, `org.apache.hadoop.hbase.mapreduce.${name}`, [...settings, ...args], jars);
}

async function runMain(
  layout: InstanceLayout,
  mainClass: string,
  args: readonly string[],
  jars: readonly string[],
): Promise<string> {
  const flags = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto'];
  const paths = [layout.conf, ...jars].join(delimiter);
  const all = [
    ...MODULE_FLAGS,
    ...flags,
    '-Djava.net.preferIPv4Stack=true',
    `-Djava.io.tmpdir=${layout.tmp}`,
    '-cp',
    paths,
    mainClass,
    ...args,
  ];
  const { code, output } = await run('java', all, process.env, '', TOOL_PATIENCE);
  if (code !== 0) throw new Error(`${mainClass} ended with code ${code}:\n${output.slice(-6000)}`);
  return output;
}
