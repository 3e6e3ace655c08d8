import type { Call } from './call.js';

/** HBase never answers what came too late, so the oldest are forgotten. */
const MOST = 65536;

/** Calls that were given up, and of which an answer is still expected. */
export class AbandonedCalls {
  /** Those that want their answer even then. */
  private readonly calls = new Map<number, Call | undefined>();

  add(id: number, call: Call): void {
    this.calls.set(id, call.onLateResponse === undefined ? undefined : call);
    if (this.calls.size <= MOST) return;
    for (const oldest of this.calls.keys()) {
      this.calls.delete(oldest);
      return;
    }
  }

  has(id: number): boolean {
    return this.calls.has(id);
  }

  /** Takes the call out, now that its answer has come; undefined when that is to be passed over. */
  take(id: number): Call | undefined {
    const call = this.calls.get(id);
    this.calls.delete(id);
    return call;
  }

  clear(): void {
    this.calls.clear();
  }
}
