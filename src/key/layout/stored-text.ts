import { text } from '../codecs/index.js';
import type { KeyLayout } from '../types.js';
import { CompiledLayout } from './layout.js';

/** Whether keys of the layout hold a part's text as columns do, so that `encode` takes a `StoredText` in its place. */
export function takesStoredText(layout: KeyLayout, part: string): boolean {
  if (!(layout instanceof CompiledLayout)) return false;
  const steps = layout.steps.filter(({ names }) => names.includes(part));
  return steps.length > 0 && steps.every(({ inline }) => inline?.writable === true && inline.codec === text);
}
