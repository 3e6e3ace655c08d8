import { delimiter } from 'node:path';
import { classPath, run } from './class-path.js';
import { MODULE_FLAGS } from './jvm.js';
import type { InstanceLayout } from './layout.js';

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

/** The same of one of HBase's jobs, run in the one process (Hadoop's LocalJobRunner). */
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
  const { code, output } = await run('java', [
    ...MODULE_FLAGS,
    ...flags,
    '-Djava.net.preferIPv4Stack=true',
    `-Djava.io.tmpdir=${layout.tmp}`,
    '-cp',
    paths,
    mainClass,
    ...args,
  ]);
  if (code !== 0) throw new Error(`${mainClass} ended with code ${code}:\n${output.slice(-6000)}`);
  return output;
}
