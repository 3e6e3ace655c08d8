import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { HBASE_HOME, POMS } from './layout.js';

/** The poms under `poms/`: the server, the shell (other versions, other class path), the Java load generator, HBase's jobs, a KDC, and what a server may have besides. */
export type ClassPathName =
  | 'server'
  | 'shell'
  | 'bench'
  | 'client-tests'
  | 'jobs'
  | 'kdc'
  | 'groups'
  | 'client-3.0'
  | 'server-2.4'
  | 'server-2.5'
  | 'server-3.0';

const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath';

/** Jars that would take the place of the logging set-up, and make it fail or fall silent. */
const UNWANTED = /reload4j|slf4j-log4j12|log4j-1\.2\.1|commons-logging/;

/**
 * The jars of a pom, joined as `java -cp` takes them. Maven fetches them the first time; the answer is kept under
 * `.hbase/` until the pom changes or a jar is gone.
 * @throws Error naming what to install when `java` or `mvn` is missing; with Maven's words when it fails twice.
 */
export async function classPath(name: ClassPathName): Promise<string> {
  const pom = join(POMS, `${name}.xml`);
  const hash = createHash('sha256')
    .update(await readFile(pom))
    .digest('hex')
    .slice(0, 12);
  const cache = join(HBASE_HOME, 'class-path', `${name}-${hash}.txt`);
  const known = await readFile(cache, 'utf8').catch(() => undefined);
  if (known?.split(delimiter).every((jar) => existsSync(jar))) return known;
  await requireTools();
  await mkdir(join(HBASE_HOME, 'class-path'), { recursive: true });
  const answer = `${cache}.${process.pid}`;
  await resolveWithMaven(pom, answer);
  const jars = (await readFile(answer, 'utf8')).trim();
  const unwanted = jars.split(delimiter).filter((jar) => UNWANTED.test(jar));
  if (unwanted.length > 0) {
    throw new Error(`${pom} resolves to jars that break logging; exclude them:\n${unwanted.join('\n')}`);
  }
  await writeFile(answer, jars);
  await rename(answer, cache);
  return jars;
}

async function resolveWithMaven(pom: string, answer: string): Promise<void> {
  const args = ['-q', '-B', '-f', pom, PLUGIN, '-DincludeScope=runtime', `-Dmdep.outputFile=${answer}`];
  const first = await run('mvn', args);
  if (first.code === 0) return;
  // A registry that drops a connection is common on a first fetch; what was fetched is kept.
  const second = await run('mvn', args);
  if (second.code !== 0) {
    throw new Error(
      `Maven could not fetch the jars of ${pom} (exit ${second.code}). Check that this machine reaches a Maven ` +
        `repository (~/.m2/settings.xml names the mirrors), then run it again:\n${second.output.slice(-4000)}`,
    );
  }
}

let toolsChecked: Promise<void> | undefined;

/** @throws Error saying what to install when there is no JDK 17 or later, or no Maven. */
export function requireTools(): Promise<void> {
  toolsChecked ??= (async () => {
    const java = await run('java', ['-version']);
    const major = Number(/version "(\d+)/.exec(java.output)?.[1] ?? 0);
    if (java.code !== 0 || major < 17) {
      throw new Error(
        `HBase needs a JDK of version 17 or later on the PATH; found ${major > 0 ? `version ${major}` : 'none'}. ` +
          'Install one (Debian: apt-get install openjdk-17-jdk-headless; macOS: brew install openjdk@17).',
      );
    }
    const maven = await run('mvn', ['-version']);
    if (maven.code !== 0) {
      throw new Error(
        'HBase is fetched by Maven, and there is no mvn on the PATH. ' +
          'Install it (Debian: apt-get install maven; macOS: brew install maven).',
      );
    }
  })();
  return toolsChecked;
}

interface Finished {
  readonly code: number;
  readonly output: string;
}

/** The code of a command that a signal ended. */
export const KILLED = 128;

/**
 * Runs a command to its end; a command that does not exist ends with code 127. One that still runs after `patience` milliseconds is
 * ended, and its output says so: whoever waits would else be ended without a word.
 */
export function run(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  input = '',
  patience?: number,
): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    // One that reads nothing may end first.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    const chunks: Buffer[] = [];
    const end = (): void => {
      chunks.push(Buffer.from(`\n${command} was ended: it still ran after ${patience! / 1000} s.`));
      child.kill('SIGKILL');
    };
    const timer = patience === undefined ? undefined : setTimeout(end, patience);
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', (error) => {
      clearTimeout(timer);
      resolve({ code: 127, output: error.message });
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code: code ?? (signal === null ? 1 : KILLED), output: Buffer.concat(chunks).toString() });
    });
  });
}
