/** Ends `rowan` with a code, after everything there is to say has been printed. */
export class CliExit extends Error {
  constructor(readonly code: number) {
    super(`exit ${code}`);
  }
}
