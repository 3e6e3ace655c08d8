import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { classPath, KILLED, run } from './class-path.js';
import { MODULE_FLAGS, TOOL_PATIENCE } from './jvm.js';
import type { InstanceLayout } from './layout.js';

/**
 * Runs a script in the real HBase shell against a running instance, and answers what it printed. It starts a JVM and
 * JRuby (5-10 s), so put what belongs together into one script. Each command is echoed before its output.
 * @throws ShellError with everything printed when a command fails.
 */
export async function runShell(layout: InstanceLayout, script: string): Promise<string> {
  const { code, output } = await start(layout, script, ['-n'], '');
  if (code !== 0) throw new ShellError(code, output);
  return output;
}

/**
 * As {@link runShell}, but as if it was typed: a command that fails prints its error, and the next one runs. The script ends
 * with `exit`; `input` answers the questions of commands.
 * @throws ShellError with everything printed when it does not end.
 */
export async function runTypedShell(layout: InstanceLayout, script: string, input: string): Promise<string> {
  const { code, output } = await start(layout, script, [], input);
  if (code === KILLED) throw new ShellError(code, output);
  return output;
}

async function start(
  layout: InstanceLayout,
  script: string,
  options: readonly string[],
  input: string,
): Promise<{ readonly code: number; readonly output: string }> {
  const jars = await classPath('shell');
  const folder = await mkdtemp(join(layout.tmp, 'shell-'));
  try {
    const file = join(folder, 'script.rb');
    await writeFile(file, script);
    const args = [
      ...MODULE_FLAGS,
      '-Xmx512m',
      '-XX:+UseSerialGC',
      '-XX:TieredStopAtLevel=1',
      '-Xshare:auto',
      '-Djava.net.preferIPv4Stack=true',
      `-Djava.io.tmpdir=${folder}`,
      '-cp',
      `${layout.conf}${delimiter}${jars}`,
      'org.jruby.JarBootstrapMain',
      ...options,
      file,
    ];
    return await run('java', args, process.env, input, TOOL_PATIENCE);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A command of the script failed. */
export class ShellError extends Error {
  constructor(
    readonly code: number,
    readonly output: string,
  ) {
    super(`The HBase shell ended with code ${code}:\n${output}`);
  }
}
