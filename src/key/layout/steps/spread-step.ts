import { concatBytes } from '../../../bytes/index.js';
import type { SplitOptions } from '../../types.js';
import { precedesOpenPart, type SplitBehind, Step } from '../step.js';
import type { StepWalk } from '../step-walk.js';

/** Steps that take one of a known number of byte strings of one width: a query can ask for each. */
export abstract class SpreadStep extends Step {
  abstract override readonly width: number;
  readonly derived = true;
  /** What can stand there, in byte order. */
  abstract readonly choices: readonly Uint8Array[];

  /** The one choice that the values of a walk lead to, or undefined. */
  protected abstract chosen(walk: StepWalk): Uint8Array | undefined;

  pass(walk: StepWalk): boolean {
    const bytes = this.chosen(walk);
    return bytes === undefined ? walk.fanOutOver(this.choices, this.signature) : walk.appendDerived(bytes);
  }

  override disorders(later: readonly Step[], isKnown: (name: string) => boolean): boolean {
    return precedesOpenPart(later, isKnown);
  }

  /** Between the choices, and within each when there are more regions than choices and what follows can be split. */
  override splits(
    prefix: Uint8Array,
    regions: number,
    behind: SplitBehind,
    _options: SplitOptions,
  ): Uint8Array[] {
    const { choices } = this;
    const count = choices.length;
    const keys: Uint8Array[] = [];
    if (regions <= count) {
      for (let i = 1; i < regions; i++) {
        keys.push(concatBytes(prefix, choices[Math.ceil((i * count) / regions)]!));
      }
      return keys;
    }
    choices.forEach((choice, i) => {
      const start = concatBytes(prefix, choice);
      if (i > 0) keys.push(start);
      const share = Math.floor(((i + 1) * regions) / count) - Math.floor((i * regions) / count);
      keys.push(...behind(start, share));
    });
    return keys;
  }
}
