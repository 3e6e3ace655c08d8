/** What the store and its workers tell each other. */

import type { WireError } from '../../errors.js';
import type { Job, JobResult } from './job.js';

/** What a worker is sent. */
export interface WorkerRequest {
  readonly id: number;
  readonly job: Job;
}

/** What it answers; first of all that it is ready to work. */
export type WorkerReply =
  | { readonly ready: true }
  | { readonly id: number; readonly result: JobResult }
  | { readonly id: number; readonly error: WireError };
