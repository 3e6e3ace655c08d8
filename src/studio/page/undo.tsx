/** The writes of this page, with the way back for the last one. */

import { useEffect, useState } from 'preact/hooks';
import { requests } from './requests.js';

interface LastWrite {
  readonly what: string;
  readonly undo: string | null;
}

let last: LastWrite | undefined;
let count = 0;
const watchers = new Set<() => void>();

function told(): void {
  count++;
  for (const watcher of watchers) watcher();
}

/** Notes a write that was made. */
export function written(what: string, undo: string | null): void {
  last = { what, undo };
  told();
}

/** The number of writes so far; a component that asks is drawn again behind each. */
export function useWrites(): number {
  const [, redraw] = useState(0);
  useEffect(() => {
    const watcher = (): void => redraw((times) => times + 1);
    watchers.add(watcher);
    return () => {
      watchers.delete(watcher);
    };
  }, []);
  return count;
}

/** Says what was written last, and takes it back. */
export function LastWriteBar() {
  useWrites();
  const [failure, setFailure] = useState<string>();
  if (last === undefined) return null;
  const { what, undo } = last;
  const takeBack = (): void => {
    setFailure(undefined);
    requests.undoWrite(undo!).then(
      () => {
        last = { what: `${what}, taken back`, undo: null };
        told();
      },
      (error: Error) => setFailure(error.message),
    );
  };
  return (
    <div class="last-write" role="status">
      <span>Written: {what}.</span>
      {undo !== null && (
        <button type="button" onClick={takeBack}>
          Undo
        </button>
      )}
      {failure !== undefined && <span class="lost">{failure}</span>}
      <button
        type="button"
        aria-label="Close"
        onClick={() => {
          last = undefined;
          setFailure(undefined);
          told();
        }}
      >
        ×
      </button>
    </div>
  );
}
