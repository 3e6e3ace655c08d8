/** How much memory a process had at most. */

import { readFileSync } from 'node:fs';

/**
 * Bytes that were resident at most since this process began. On Linux by `VmHWM`: what `getrusage` says begins with what the parent had when
 * it made the process.
 */
export function peakMemory(): number {
  if (process.platform === 'linux') {
    const kilobytes = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
    if (kilobytes !== undefined) return Number(kilobytes) * 1024;
  }
  return process.resourceUsage().maxRSS * 1024;
}
