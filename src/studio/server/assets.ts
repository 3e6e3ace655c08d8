/** The files of the page, in memory: nothing else of the disk can be asked for. */

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { InvalidArgumentError } from '../../errors.js';

export interface Asset {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** Beside the bundle that has this module; of compiled sources and their tests in `dist`. */
const FOLDERS: readonly string[] = ['./studio/', '../../../dist/studio/', '../../../../dist/studio/'];

const FILES: readonly (readonly [path: string, file: string, type: string])[] = [
  ['/', 'studio.html', 'text/html'],
  ['/studio.js', 'studio.js', 'text/javascript'],
  ['/studio.css', 'studio.css', 'text/css'],
];

export class Assets {
  private readonly assets: ReadonlyMap<string, Asset>;

  /** @throws InvalidArgumentError when the page was not built. */
  constructor() {
    const folder = FOLDERS.map((each) => fileURLToPath(new URL(each, import.meta.url))).find((each) =>
      existsSync(`${each}studio.html`),
    );
    if (folder === undefined) {
      throw new InvalidArgumentError(
        'The files of the studio are not there: run "npm run build" in the repository.',
      );
    }
    this.assets = new Map(
      FILES.map(([path, file, type]) => [path, { type, bytes: readFileSync(`${folder}${file}`) }] as const),
    );
  }

  find(path: string): Asset | undefined {
    return this.assets.get(path);
  }
}
