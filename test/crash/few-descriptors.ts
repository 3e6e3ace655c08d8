/** Opens the store it is given with no, one, two, … descriptors left, until it opens; says what each opening came to. */
import { closeSync, openSync } from 'node:fs';
import { RowanError } from '../../src/errors.js';
import { openEmbedded } from '../../src/store/engine.js';

const [directory] = process.argv.slice(2);
// What is loaded at the first opening needs descriptors of its own.
await (await openEmbedded(directory!)).close();

const held: number[] = [];
function hold(): void {
  try {
    for (;;) held.push(openSync('/dev/null', 'r'));
  } catch {
    // All of them.
  }
}

async function attempt(left: number): Promise<string> {
  hold();
  for (let i = 0; i < left; i++) closeSync(held.pop()!);
  try {
    await (await openEmbedded(directory!)).close();
    return 'opened';
  } catch (error) {
    if (!(error instanceof RowanError)) return `not of Rowan: ${error}`;
    return JSON.stringify({
      ...error.details,
      code: error.code,
      retryable: error.retryable,
      message: error.message,
    });
  } finally {
    for (const descriptor of held.splice(0)) closeSync(descriptor);
  }
}

for (let left = 0, said = ''; said !== 'opened'; left++) {
  said = await attempt(left);
  process.stdout.write(`${said}\n`);
}
