/** What a shell printed, statement by statement, without what differs from run to run. */

export interface Step {
  readonly statement: string;
  readonly output: string;
}

const PROMPT = /hbase:(\d{3}):(\d+)([>*'"]) /g;

/**
 * Takes a transcript apart at its prompts. A statement of several lines is one step: its lines stand behind prompts with a
 * star, or within a block (in HBase's shell) behind none.
 */
export function stepsOf(transcript: string, script: string): Step[] {
  const lines = script.replace(/\n$/, '').split('\n');
  const prompts = [...transcript.matchAll(PROMPT)].map((match) => ({
    at: match.index,
    end: match.index + match[0].length,
    line: Number(match[1]),
    begins: match[2] === '0' && match[3] === '>',
  }));
  const begins = prompts.filter((prompt) => prompt.begins);
  return begins.map((prompt, index) => {
    const next = begins[index + 1];
    const source = lines.slice(prompt.line - 1, next === undefined ? undefined : next.line - 1);
    const within = prompts.filter(
      (each) => each.at > prompt.at && each.at < (next?.at ?? Number.POSITIVE_INFINITY),
    );
    // Behind the last prompt of a statement stands its last line, or a block's remaining lines, then its output.
    let at = prompt.end;
    let rest = source;
    for (const each of within) {
      at = each.end;
      rest = rest.slice(1);
    }
    // A line of a log may stand before the statement that the shell repeats.
    let output = withoutNoise(transcript.slice(at, next?.at));
    for (const line of rest) {
      if (!output.startsWith(line)) break;
      output = output.slice(line.length).replace(/^\n/, '');
    }
    return { statement: source.join('\n'), output: normalized(output) };
  });
}

/**
 * Makes the same everywhere: times, names of regions, servers and objects, lines of logs and of Java's stacks. The shell of
 * HBase 2.4, the newest that is published, knows INDEX_BLOCK_ENCODING and human-readable sizes not yet, which the descriptors
 * of a 2.6 server have: both are left out. So is READONLY where it says what holds without it.
 */
function normalized(output: string): string {
  return withoutNoise(output.replace(/Took \d+\.\d+ seconds\n?/g, 'Took TIME\n'))
    .replace(/timestamp=20[2-9]\d-\d\d-\d\dT[\d:.]+/g, 'timestamp=NOW')
    .replace(/(does not exist in region) .*/g, '$1')
    .replace(/\b\d{13}\.[0-9a-f]{32}\./g, 'REGION.')
    .replace(/ENCODED => [0-9a-f]{32}/g, 'ENCODED => REGION')
    .replace(/localhost[:,]\d+(?:,\d{13})?/g, 'SERVER')
    .replace(/20\d\d-\d\d-\d\d \d\d:\d\d:\d\d \+\d{4}/g, 'DATE')
    .replace(/#<HBaseReceiver:0x[0-9a-f]+>/g, 'the shell')
    .replace(
      /, METADATA => \{'INDEX_BLOCK_ENCODING' => 'NONE'\}|'INDEX_BLOCK_ENCODING' => 'NONE'(?:, )?|INDEX_BLOCK_ENCODING => 'NONE', /g,
      '',
    )
    .replace(/'(\d+) B \([\dA-Z ]+\)'/g, "'$1'")
    .replaceAll("READONLY => 'false', ", '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

const NOISE =
  /^\tat |^\t\.\.\. \d+ more|^EXIT \d|^\d{4}-\d\d-\d\dT[\d:,]+ (?:INFO|WARN)|^(?:Caused by: )?(?:java|org\.apache)\.[\w.$]+(?:Exception|Error)\b|^=> .*#<Java::/;

function withoutNoise(output: string): string {
  return output
    .split('\n')
    .filter((line) => !NOISE.test(line))
    .join('\n');
}
