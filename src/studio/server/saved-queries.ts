/** Queries under a name, in a file of the project that can be committed with it. */

import { readFile, rename, writeFile } from 'node:fs/promises';
import { InvalidArgumentError } from '../../errors.js';
import type { SavedQuery } from './api.js';
import { parseQuestion } from './questions.js';

const MOST_QUERIES = 1000;

export class SavedQueries {
  private writing: Promise<unknown> = Promise.resolve();

  /** @param file Undefined: there are none, and none can be saved. */
  constructor(readonly file: string | undefined) {}

  /** Those in the file; none when it is not there. @throws InvalidArgumentError when it holds something else. */
  async all(): Promise<SavedQuery[]> {
    if (this.file === undefined) return [];
    let text: string;
    try {
      text = await readFile(this.file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
    try {
      return checkedList(JSON.parse(text));
    } catch (cause) {
      throw new InvalidArgumentError(
        `${this.file} is no list of saved queries: ${(cause as Error).message} Mend or remove it.`,
        { cause },
      );
    }
  }

  /** Saves a query in the place of one of its name. @throws InvalidArgumentError without a file. */
  save(query: unknown): Promise<SavedQuery[]> {
    const saved = checkedQuery(query);
    return this.change((all) => [...all.filter(({ name }) => name !== saved.name), saved]);
  }

  remove(name: string): Promise<SavedQuery[]> {
    return this.change((all) => all.filter((each) => each.name !== name));
  }

  /** One after the other; a reader sees the whole file before or after. */
  private change(to: (all: SavedQuery[]) => SavedQuery[]): Promise<SavedQuery[]> {
    const { file } = this;
    if (file === undefined)
      throw new InvalidArgumentError('Start the studio with --queries <file> to save queries.');
    const done = this.writing
      .catch(() => undefined)
      .then(async () => {
        const all = to(await this.all()).sort((a, b) => (a.name < b.name ? -1 : 1));
        if (all.length > MOST_QUERIES)
          throw new InvalidArgumentError(`${file} has ${MOST_QUERIES} queries: remove one first.`);
        await writeFile(`${file}.new`, `${JSON.stringify(all, undefined, 2)}\n`);
        await rename(`${file}.new`, file);
        return all;
      });
    this.writing = done;
    return done;
  }
}

function checkedList(given: unknown): SavedQuery[] {
  if (!Array.isArray(given)) throw new InvalidArgumentError('It is no JSON array.');
  return given.map(checkedQuery);
}

function checkedQuery(given: unknown): SavedQuery {
  const { name, entity, question } = (given ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string' || name.trim() === '' || name.length > 200)
    throw new InvalidArgumentError('A saved query has a name of up to 200 characters.');
  if (typeof entity !== 'string') throw new InvalidArgumentError(`"${name}" names no entity.`);
  return { name, entity, question: parseQuestion(JSON.stringify(question ?? {})) };
}
