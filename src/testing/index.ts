/**
 * `rowan-orm/testing`: what tests of programs that use Rowan need. A database in memory, a clock that is set by hand,
 * fixtures, and a look at plans. None of it depends on a test runner; docs/testing.md shows three.
 */

export { type SettableClock, settableClock } from './clock.js';
export { expectPlan, type PlanExpectation } from './expect-plan.js';
export { type Fixture, fixture } from './fixture.js';
export {
  type CrashOptions,
  MemoryFileSystem,
  type MemoryFileSystemOptions,
  type MemoryOperation,
} from './fs/memory-fs.js';
export { type MemoryOptions, openMemory } from './open-memory.js';
