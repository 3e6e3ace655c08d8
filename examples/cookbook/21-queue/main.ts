/** A queue of tasks with due times. Several workers take tasks; one worker takes each task. */

// #region entity
import { Column, date, Entity, int32, part, rowKey, salt, Table, text } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:queue', families: { d: {} }, presplit: { regions: 4 } })
class Queue {}

/** Salted by the task, in the order of the due time. */
@Entity({ table: Queue })
class Task {
  static readonly key = rowKey(salt(4, ['task']), part('queue', text), part('due', date), part('task', text));
  queue!: string;
  due!: Date;
  task!: string;
  @Column('d:p', text) payload!: string;
  /** The end of the lease of a worker; absent if no worker has the task. */
  @Column('d:l', date) leasedUntil?: Date | null;
  @Column('d:n', int32) attempts?: number;
}
// #endregion

await using recipe = await openRecipe([Task]);
const tasks = recipe.db.repository(Task);
const minute = (n: number): Date => new Date(Date.UTC(2026, 0, 1, 9, n));

// #region take
/** Takes a due task without a worker; undefined if there is none. */
async function take(now: Date): Promise<Task | undefined> {
  const due = tasks.find({ queue: 'mail', due: { lte: now } });
  for (const task of await due
    .where((w) => w.or({ leasedUntil: null }, { leasedUntil: { lte: now } }))
    .limit(10)
    .all()) {
    const leasedUntil = new Date(now.getTime() + 300_000);
    const expected = { leasedUntil: task.leasedUntil ?? null };
    const taken = await tasks
      .check(task, expected)
      .update({ leasedUntil, attempts: (task.attempts ?? 0) + 1 });
    if (taken.ok) return task;
  }
  return undefined;
}
// #endregion

for (const [n, task] of [
  [0, 't1'],
  [1, 't2'],
  [5, 't3'],
  [30, 't4'],
] as const) {
  await tasks.put({ queue: 'mail', due: minute(n), task, payload: `to ${task}` });
}

recipe.section('keys');
recipe.key(Task, { queue: 'mail', due: minute(0), task: 't1' });

recipe.section('queries');
// #region queries
const first = await take(minute(10));
const others = await Promise.all([take(minute(10)), take(minute(10)), take(minute(10))]);
recipe.print(`> The first task: ${first?.task}`);
recipe.print(
  `> Three workers at once: ${others
    .map((other) => other?.task ?? 'none')
    .sort()
    .join(', ')}`,
);
if (first !== undefined) await tasks.delete(first); // done
recipe.print(
  `> The second task, not done in five minutes, is taken again: ${(await take(minute(16)))?.task}`,
);
await recipe.show(
  'The tasks that are due',
  tasks.find({ queue: 'mail', due: { lte: minute(16) } }).select('attempts'),
);
// #endregion

recipe.section('cost');
recipe.print(
  `a look for work: ${tasks.find({ queue: 'mail', due: { lte: minute(16) } }).explain().ranges.length} ranges; taking it: one row`,
);
