import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { classPath, run } from '../../hbase/server/class-path.js';
import { MODULE_FLAGS } from '../../hbase/server/jvm.js';
import { HBASE_HOME, type InstanceLayout } from '../../hbase/server/layout.js';
import { TABLE, VALUE_LENGTH } from './workload.js';

/**
 * HBase's own load generator, as threads of one JVM with the full compiler: `org.apache.hadoop.hbase.PerformanceEvaluation
 * --nomapred`.
 */
export class PerformanceEvaluation {
  private constructor(
    private readonly layout: InstanceLayout,
    private readonly jars: string,
  ) {}

  static async prepare(layout: InstanceLayout): Promise<PerformanceEvaluation> {
    const server = await classPath('server');
    const tools = await classPath('bench');
    const classes = await compileMissingFilter(server);
    return new PerformanceEvaluation(layout, [layout.conf, classes, tools, server].join(delimiter));
  }

  /** Creates the table in four regions and writes `rows` rows into it, one client. */
  async load(rows: number): Promise<void> {
    await this.run('sequentialWrite', ['--presplit=4', `--rows=${rows}`], 1);
  }

  /**
   * Rows a second of all clients together, from the start of the timed part to the end of the last client. Random rows
   * are taken from the first `rows * clients`.
   */
  async measure(command: string, args: readonly string[], rows: number, clients: number): Promise<number> {
    const output = await this.run(command, [...args, `--rows=${rows}`], clients);
    const timings = /Summary of timings \(ms\): \[([\d, ]+)\]/.exec(output)?.[1];
    if (timings === undefined)
      throw new Error(`PerformanceEvaluation ${command} printed no timings:\n${output}`);
    return (rows * clients) / (Math.max(...timings.split(',').map(Number)) / 1000);
  }

  private async run(command: string, args: readonly string[], clients: number): Promise<string> {
    const { code, output } = await run('java', [
      ...MODULE_FLAGS,
      '-Xms256m',
      '-Xmx1g',
      '-XX:+UseG1GC',
      '-Djava.net.preferIPv4Stack=true',
      `-Djava.io.tmpdir=${this.layout.tmp}`,
      '-cp',
      this.jars,
      'org.apache.hadoop.hbase.PerformanceEvaluation',
      '--nomapred',
      `--table=${TABLE}`,
      `--valueSize=${VALUE_LENGTH}`,
      ...args,
      command,
      String(clients),
    ]);
    if (code !== 0)
      throw new Error(`PerformanceEvaluation ${command} ended with code ${code}:\n${output.slice(-4000)}`);
    return output;
  }
}

/**
 * PerformanceEvaluation names a filter of a test jar that is not published, and only uses it when asked to; an empty
 * class of the name lets it load.
 */
async function compileMissingFilter(server: string): Promise<string> {
  const classes = join(HBASE_HOME, 'bench', 'classes');
  const folder = join(HBASE_HOME, 'bench', 'java', 'org', 'apache', 'hadoop', 'hbase', 'filter');
  if (existsSync(join(classes, 'org', 'apache', 'hadoop', 'hbase', 'filter', 'FilterAllFilter.class')))
    return classes;
  await mkdir(folder, { recursive: true });
  await mkdir(classes, { recursive: true });
  const source = join(folder, 'FilterAllFilter.java');
  await writeFile(
    source,
    'package org.apache.hadoop.hbase.filter;\n\npublic class FilterAllFilter extends FilterBase {}\n',
  );
  const { code, output } = await run('javac', ['-nowarn', '-cp', server, '-d', classes, source]);
  if (code === 127) throw new Error('There is no javac on the PATH: install a JDK, not only a JRE.');
  if (code !== 0) throw new Error(`javac failed:\n${output}`);
  return classes;
}
