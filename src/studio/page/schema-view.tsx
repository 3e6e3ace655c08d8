import { Code, ProblemBox, useLoaded } from './parts.js';
import { requests } from './requests.js';

/** How the tables differ from the declarations, and what the lint finds in these. */
export function SchemaView() {
  const report = useLoaded(requests.schema, 'schema');
  if (report === undefined) return <p role="status">Reading…</p>;
  if (report instanceof Error) return <ProblemBox error={report} />;
  const { findings } = report;
  return (
    <>
      <h1>
        Schema{' '}
        <small>
          {report.steps} {report.steps === 1 ? 'step' : 'steps'}, {findings.length}{' '}
          {findings.length === 1 ? 'finding' : 'findings'}
        </small>
      </h1>
      <Code label="Plan: from the tables to the declarations" text={report.plan} />
      <h2>Lint</h2>
      {findings.length === 0 && <p>The lint finds nothing.</p>}
      <ul class="findings">
        {findings.map(({ severity, code, text }) => (
          <li key={`${code} ${text}`} class={severity}>
            <b>{severity}</b> {text}
          </li>
        ))}
      </ul>
      <Code label="The tables for HBase's shell" text={report.script} />
    </>
  );
}
