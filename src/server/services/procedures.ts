import { randomInt } from 'node:crypto';
import { exceptionOf, type ServerException } from '../errors.js';

/** How long, in ms, the call itself waits for a change, so that an early failure is its response. */
const PATIENCE = 2000;
/** How many ended changes are remembered. */
const MAX_ENDED = 1000;

interface Procedure {
  readonly startedAt: number;
  endedAt: number | undefined;
  failure: ServerException | undefined;
}

/** Table changes as procedures: clients poll by a number until the change has ended. */
export class Procedures {
  private readonly known = new Map<number, Procedure>();
  /** By nonce, since clients resend a call if the response was lost. */
  private readonly byNonce = new Map<string, number>();
  private last = randomInt(1, 2 ** 32);

  constructor(
    private readonly now: () => number,
    /** Called before a change. @throws an error to refuse it. */
    private readonly check: () => void,
  ) {}

  /** Runs a change unless it has already started. @throws the error of `check`, or an early error of the change. */
  async run(
    {
      nonceGroup = 0n,
      nonce = 0n,
    }: { readonly nonceGroup?: bigint | undefined; readonly nonce?: bigint | undefined },
    change: () => Promise<void>,
  ): Promise<{ readonly procId: number }> {
    this.check();
    const key = nonce === 0n ? undefined : `${nonceGroup}:${nonce}`;
    const before = key === undefined ? undefined : this.byNonce.get(key);
    if (before !== undefined) return { procId: before };
    const procId = ++this.last;
    const procedure: Procedure = { startedAt: this.now(), endedAt: undefined, failure: undefined };
    this.known.set(procId, procedure);
    if (key !== undefined) this.byNonce.set(key, procId);
    const ended = change().then(
      () => {
        procedure.endedAt = this.now();
      },
      (error: unknown) => {
        procedure.endedAt = this.now();
        procedure.failure = exceptionOf(error);
      },
    );
    await orLater(ended);
    this.forgetEnded();
    if (procedure.failure !== undefined) {
      if (key !== undefined) this.byNonce.delete(key);
      throw procedure.failure;
    }
    return { procId };
  }

  find(procId: number): Procedure | undefined {
    return this.known.get(procId);
  }

  private forgetEnded(): void {
    if (this.known.size <= MAX_ENDED) return;
    for (const [procId, { endedAt }] of this.known) {
      if (endedAt === undefined) continue;
      this.known.delete(procId);
      for (const [key, id] of this.byNonce) if (id === procId) this.byNonce.delete(key);
      return;
    }
  }
}

async function orLater(ended: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, PATIENCE);
  });
  await Promise.race([ended, late]);
  clearTimeout(timer);
}
