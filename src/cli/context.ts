/** Where a command writes. Tests give their own. */
export interface CliContext {
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
}

export const processContext: CliContext = {
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
};
