/** The folder, settings, clock and listener of an open store, shared by all its parts. */

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

  /** @throws InvalidArgumentError when the `clock` option returns anything but a time. */
  now(): number {
    const now = this.settings.clock();
    if (Number.isSafeInteger(now) && now >= 0) return now;
    throw new InvalidArgumentError(
      `The clock of the store returned ${now}. It must return whole milliseconds since 1970 (option "clock").`,
    );
  }

  emit(event: StoreEvent): void {
    try {
      this.settings.onEvent(event);
    } catch {
      // A failing listener must not stop the store's work.
    }
  }
}
