import type { Planned } from '../server/api.js';
import { Code, Pieces } from './parts.js';

interface Explained {
  readonly kind: string;
  readonly fanOut: number;
  readonly order: string;
  readonly ranges: readonly { readonly printed: string }[];
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
}

/** Ranges that are listed; more are counted. */
const MAX_RANGES = 4;

/** The plan of a question: the bytes of the key, the ranges that are read, and how. */
export function PlanBox({ planned }: { readonly planned: Planned | undefined }) {
  const plan = planned?.explanation as unknown as Explained | null | undefined;
  return (
    <section class="plan" aria-label="What is read" aria-live="polite">
      {planned?.pieces != null && <Pieces pieces={planned.pieces} />}
      {planned?.problem != null && (
        <p class="problem">
          <strong>{planned.problem.code}</strong> {planned.problem.message}
        </p>
      )}
      {plan != null && (
        <>
          <dl class="facts">
            <div>
              <dt>reads</dt>
              <dd>{READS[plan.kind] ?? plan.kind}</dd>
            </div>
            <div>
              <dt>ranges</dt>
              <dd>{plan.ranges.length}</dd>
            </div>
            <div>
              <dt>fan-out</dt>
              <dd>{plan.fanOut}</dd>
            </div>
            <div>
              <dt>order</dt>
              <dd>{plan.order}</dd>
            </div>
          </dl>
          <ul class="ranges" aria-label="Ranges">
            {plan.ranges.slice(0, MAX_RANGES).map(({ printed }) => (
              <li key={printed}>
                <code>{printed}</code>
              </li>
            ))}
            {plan.ranges.length > MAX_RANGES && <li>{plan.ranges.length - MAX_RANGES} more</li>}
          </ul>
          {plan.warnings.map(({ code, message }) => (
            <p key={code} class="warning">
              <strong>{code}</strong> {message}
            </p>
          ))}
          <details>
            <summary>explain() and TypeScript</summary>
            <Code label="TypeScript" text={planned!.code} />
            <Code label="explain()" text={planned!.text} />
          </details>
        </>
      )}
    </section>
  );
}

const READS: Readonly<Record<string, string>> = {
  point: 'one row',
  points: 'single rows',
  range: 'one range',
  ranges: 'several ranges',
  full: 'the whole table',
  fullScan: 'the whole table',
};
