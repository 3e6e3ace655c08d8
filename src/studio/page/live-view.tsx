import { useEffect, useState } from 'preact/hooks';
import type { EntityInfo, LiveChange, Problem, Question, ValueShown } from '../server/api.js';
import { ProblemBox, textOf, timeText } from './parts.js';
import { StudioError, watchAddress } from './requests.js';
import { entityHash } from './routes.js';
import { Difference } from './value-view.js';

/** Changes that are kept on the page. */
const MAX_CHANGES = 500;

interface LiveViewProps {
  readonly entity: EntityInfo;
  readonly question: Question;
}

/** Changes of an entity as they are committed, each with the row before and after. */
export function LiveView({ entity, question }: LiveViewProps) {
  const [changes, setChanges] = useState<readonly (LiveChange & { readonly number: number })[]>([]);
  const [state, setState] = useState<'opening' | 'open' | 'ended'>('opening');
  const [failure, setFailure] = useState<Error>();
  const [paused, setPaused] = useState(false);
  const id = JSON.stringify([entity.name, question]);

  useEffect(() => {
    if (paused) return undefined;
    setFailure(undefined);
    setState('opening');
    let number = 0;
    const source = new EventSource(watchAddress(entity.name, question));
    source.onopen = () => setState('open');
    source.onmessage = ({ data }: MessageEvent<string>) => {
      const change = { ...(JSON.parse(data) as LiveChange), number: number++ };
      setChanges((all) => [change, ...all].slice(0, MAX_CHANGES));
    };
    source.addEventListener('problem', ({ data }) =>
      setFailure(new StudioError(JSON.parse(data as string) as Problem)),
    );
    // A browser would ask again from now on, and changes in between would be missed unseen.
    const stop = (): void => {
      source.close();
      setState('ended');
    };
    source.addEventListener('end', stop);
    source.onerror = stop;
    return () => source.close();
  }, [id, paused]);

  return (
    <>
      <h1>
        Live <small>changes of {entity.name} from now on</small>
        <span class="aside">
          <button type="button" onClick={() => setPaused(!paused)}>
            {paused ? 'Go on' : 'Pause'}
          </button>
          <button type="button" onClick={() => setChanges([])}>
            Clear
          </button>
          <a href={entityHash(entity.name, question)}>Rows</a>
        </span>
      </h1>
      {!entity.changes && (
        <p class="problem">
          {entity.name} keeps no changes. Declare <code>@Entity({'{ changes: { keep } }'})</code> to watch it.
        </p>
      )}
      {failure !== undefined && <ProblemBox error={failure} />}
      <p class="status" role="status">
        {paused
          ? 'Paused'
          : state === 'open'
            ? 'Watching'
            : state === 'opening'
              ? 'Opening…'
              : 'The feed has ended'}
        , {changes.length} changes
      </p>
      <ol class="live" aria-label="Changes, the newest first">
        {changes.map((change) => (
          <ChangeItem key={`${change.time} ${change.number}`} change={change} entity={entity} />
        ))}
      </ol>
    </>
  );
}

function ChangeItem({ change, entity }: { readonly change: LiveChange; readonly entity: EntityInfo }) {
  const { operation, time, before, after } = change;
  const values = after ?? before ?? {};
  const key = entity.parts.map(({ name }) => `${name} ${textOf(values[name])}`).join(', ');
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].filter(
    (name) => !entity.parts.some((part) => part.name === name),
  );
  const changed = names.filter((name) => textOf(before?.[name]) !== textOf(after?.[name]));
  return (
    <li class="card">
      <p>
        <b class={`operation ${operation}`}>{operation}</b> {key} <small>{timeText(time)}</small>
      </p>
      <dl>
        {changed.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <ChangedValue before={before?.[name]} after={after?.[name]} />
            </dd>
          </div>
        ))}
      </dl>
    </li>
  );
}

interface ChangedValueProps {
  readonly before: ValueShown | undefined;
  readonly after: ValueShown | undefined;
}

function ChangedValue({ before, after }: ChangedValueProps) {
  if (before === undefined || before.type === 'null') return <ins>{textOf(after)}</ins>;
  if (after === undefined || after.type === 'null') return <del>{textOf(before)}</del>;
  return <Difference before={before.value} after={after.value} />;
}
