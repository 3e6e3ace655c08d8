/** The folder, settings, clock and listener of an open store. Every part of it is given these. */

import { InvalidArgumentError } from '../errors.js';
import type { StoreEvent } from './events.js';
import type { FileSystem } from './fs/file-system.js';
import type { StoreSettings } from './options.js';

export class StoreEnvironment {
  constructor(
    readonly directory: string,
    readonly fileSystem: FileSystem,
    readonly settings: StoreSettings,
  ) {}

  /** @throws InvalidArgumentError when the clock that was given tells no time. */
  now(): number {
    const now = this.settings.clock();
    if (Number.isSafeInteger(now) && now >= 0) return now;
    throw new InvalidArgumentError(
      `The clock of the store told ${now}. It must give whole milliseconds since 1970 (option "clock").`,
    );
  }

  emit(event: StoreEvent): void {
    try {
      this.settings.onEvent(event);
    } catch {
      // A listener's failure is its own: the store's work goes on.
    }
  }
}
