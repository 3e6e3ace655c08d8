/** Reporters of every vitest run: what a person reads, and a report in ROWAN_REPORTS for the sum at the end of `.ci/run`. */
export function reportersOf(suite: string): (string | [string, { outputFile: string }])[] {
  const folder = process.env['ROWAN_REPORTS'];
  return folder === undefined
    ? ['default']
    : ['default', ['json', { outputFile: `${folder}/${suite}.json` }]];
}
