import { runCli } from '../../src/cli/program.js';

interface CliAnswer {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process. */
export async function run(...args: string[]): Promise<CliAnswer> {
  let out = '';
  let err = '';
  const code = await runCli(args, {
    write: (text) => {
      out += text;
    },
    writeError: (text) => {
      err += text;
    },
  });
  return { code, out, err };
}
