/** A scroll over all rows of a grid, frame by frame, for tests and the bench. */

export interface Scrolled {
  /** Milliseconds between frames. */
  readonly frames: {
    readonly count: number;
    readonly p50: number;
    readonly p95: number;
    readonly worst: number;
  };
  readonly rows: string;
  readonly nodes: number;
  /** Bytes of the page behind a garbage collection. */
  readonly heap: number;
}

/** A function of the page: to the end of what is there, frame by frame, until as many rows are there as it is given. */
export const SCROLL = `(async (wanted) => {
  const grid = document.querySelector('.grid');
  const status = document.querySelector('.status');
  const done = wanted.toLocaleString('en') + ' rows';
  const times = [];
  let before = performance.now();
  while (!status.textContent.startsWith(done)) {
    grid.scrollTop = grid.scrollHeight;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - before);
    before = now;
  }
  gc();
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.floor((times.length - 1) * share)];
  return {
    frames: { count: times.length, p50: at(0.5), p95: at(0.95), worst: at(1) },
    rows: status.textContent,
    nodes: document.querySelectorAll('*').length,
    heap: performance.memory.usedJSHeapSize,
  };
})`;
