/** Writes of one row: a form, the mutations that it would make, what has to be typed, and the way back. */

import { useState } from 'preact/hooks';
import type { EntityInfo, ValueShown, WriteAsked, WriteDone, WritePlanned } from '../server/api.js';
import { Code, ProblemBox, textOf } from './parts.js';
import { requests } from './requests.js';
import { entityHash, rowHash } from './routes.js';
import { written } from './undo.js';

interface Field {
  readonly name: string;
  readonly codec: string;
  readonly isKey: boolean;
  /** Why it cannot be written here. */
  readonly refused?: string;
}

/** The form has only its beginning: written back, it would lose the rest. */
const CUT = 'not shown whole: written by programs';

function fieldsOf(entity: EntityInfo): Field[] {
  const keyed = new Set(entity.parts.map(({ name }) => name));
  return [
    ...entity.parts.map(({ name, codec }) => ({ name, codec, isKey: true })),
    ...entity.columns
      .filter(({ property }) => !keyed.has(property))
      .map(({ property, codec, kind }) => ({
        name: property,
        codec,
        isKey: false,
        ...(kind === 'columns' && { refused: 'a map: written by programs' }),
        ...(kind === 'counter' && { refused: 'a counter: incremented by programs' }),
      })),
  ];
}

export function InsertView({ entity }: { readonly entity: EntityInfo }) {
  const [values, setValues] = useState<Readonly<Record<string, string | null>>>({});
  return (
    <>
      <h1>
        Insert <small>{entity.name}</small>
      </h1>
      <Fields
        fields={fieldsOf(entity)}
        values={values}
        set={(name, text) => setValues({ ...values, [name]: text })}
      />
      <Confirmed
        asked={{ entity: entity.name, operation: 'insert', values: given(values) }}
        label="Preview the insert"
        done={({ row }) => {
          location.hash = rowHash(entity.table, row);
        }}
      />
    </>
  );
}

interface RowWritesProps {
  readonly entity: EntityInfo;
  readonly row: string;
  readonly values: Readonly<Record<string, ValueShown>>;
}

/** Edits a row or deletes it. Only what was typed over is written. */
export function RowWrites({ entity, row, values }: RowWritesProps) {
  const [typed, setTyped] = useState<Readonly<Record<string, string | null>>>({});
  const fields = fieldsOf(entity)
    .filter(({ isKey }) => !isKey)
    .map((field) => (values[field.name]?.cut === true ? { ...field, refused: CUT } : field));
  const shown = Object.fromEntries(
    fields.map(({ name }) => [name, typed[name] === undefined ? textOf(values[name]) : typed[name]]),
  );
  return (
    <section class="card" aria-label="Edit or delete">
      <h2>Edit</h2>
      <Fields fields={fields} values={shown} set={(name, text) => setTyped({ ...typed, [name]: text })} />
      {Object.keys(typed).length > 0 && (
        <Confirmed
          asked={{ entity: entity.name, operation: 'update', row, values: typed }}
          label="Preview the edit"
          done={() => setTyped({})}
        />
      )}
      <h2>Delete</h2>
      <Confirmed
        asked={{ entity: entity.name, operation: 'delete', row }}
        label="Preview the delete"
        done={() => {
          location.hash = entityHash(entity.name);
        }}
      />
    </section>
  );
}

/** Without fields that were left empty. */
const given = (values: Readonly<Record<string, string | null>>): Record<string, string | null> =>
  Object.fromEntries(Object.entries(values).filter(([, text]) => text !== ''));

interface FieldsProps {
  readonly fields: readonly Field[];
  readonly values: Readonly<Record<string, string | null>>;
  readonly set: (name: string, text: string | null) => void;
}

function Fields({ fields, values, set }: FieldsProps) {
  return (
    <div class="write-fields">
      {fields.map(({ name, codec, isKey, refused }) => {
        const value = values[name];
        return (
          <div key={name} class="field">
            <label for={`write-${name}`}>
              <strong>{name}</strong> <small>{refused ?? `${codec}${isKey ? ', in the key' : ''}`}</small>
            </label>
            <textarea
              id={`write-${name}`}
              rows={(value ?? '').length > 60 ? 4 : 1}
              spellcheck={false}
              disabled={refused !== undefined || value === null}
              value={value ?? ''}
              onInput={({ currentTarget }) => set(name, currentTarget.value)}
            />
            {!isKey && refused === undefined && (
              <label class="switch">
                <input
                  type="checkbox"
                  checked={value === null}
                  onChange={({ currentTarget }) => set(name, currentTarget.checked ? null : '')}
                />
                no value
              </label>
            )}
          </div>
        );
      })}
    </div>
  );
}

interface ConfirmedProps {
  readonly asked: WriteAsked;
  readonly label: string;
  readonly done: (done: WriteDone) => void;
}

/** Shows the mutations of a write, and makes it when what has to be typed was typed. */
function Confirmed({ asked, label, done }: ConfirmedProps) {
  const [planned, setPlanned] = useState<{ readonly of: string; readonly plan: WritePlanned }>();
  const [failure, setFailure] = useState<Error>();
  const [typed, setTyped] = useState('');
  const of = JSON.stringify(asked);
  // Another write than the one that was looked at is looked at first.
  const plan = planned?.of === of ? planned.plan : undefined;
  const preview = (): void => {
    setFailure(undefined);
    requests.planWrite(asked).then(
      (found) => setPlanned({ of, plan: found }),
      (error: Error) => setFailure(error),
    );
  };
  const make = (): void => {
    requests.makeWrite(asked, typed, plan!.seen).then(
      (result) => {
        setPlanned(undefined);
        setTyped('');
        written(`${asked.operation} of ${asked.entity}`, result.undo);
        done(result);
      },
      (error: Error) => {
        setPlanned(undefined);
        setFailure(error);
      },
    );
  };
  const id = `confirm-${asked.operation}`;
  return (
    <div class="confirmed">
      <button type="button" onClick={preview}>
        {label}
      </button>
      {failure !== undefined && <ProblemBox error={failure} />}
      {plan !== undefined && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (typed === plan.confirm) make();
          }}
        >
          <Mutations plan={plan} />
          <Code label="TypeScript" text={plan.code} />
          <div class="typed">
            <label for={id}>
              Type <kbd>{plan.confirm}</kbd> to write
            </label>
            <input
              id={id}
              type="text"
              autocomplete="off"
              spellcheck={false}
              value={typed}
              onInput={({ currentTarget }) => setTyped(currentTarget.value)}
            />
            <button type="submit" class="main danger" disabled={typed !== plan.confirm}>
              Write
            </button>
          </div>
        </form>
      )}
    </div>
  );
}

function Mutations({ plan }: { readonly plan: WritePlanned }) {
  return (
    <>
      <div class="scroll" tabIndex={0} role="group" aria-label="Mutations of the write">
        <table class="mutations">
          <thead>
            <tr>
              <th scope="col">table</th>
              <th scope="col">row</th>
              <th scope="col">column</th>
              <th scope="col">change</th>
              <th scope="col">value</th>
            </tr>
          </thead>
          <tbody>
            {plan.mutations.flatMap(({ table, row, cells }, at) =>
              cells.map(({ column, type, value }, cell) => (
                <tr key={`${at} ${cell}`} class={type === 'Put' ? '' : 'tombstone'}>
                  <td>{cell === 0 ? table : ''}</td>
                  <td>
                    <code>{cell === 0 ? row : ''}</code>
                  </td>
                  <td>{column}</td>
                  <td>{type}</td>
                  <td>
                    <code>{value}</code>
                  </td>
                </tr>
              )),
            )}
          </tbody>
        </table>
      </div>
      {plan.mutations.length === 0 && <p>Nothing would change.</p>}
      <p>
        {plan.complete
          ? 'These are all mutations of the write.'
          : 'These are mutations of the row itself; what follows is written after it.'}
        {plan.effects.length > 0 && ` Such a write keeps up to date: ${plan.effects.join('; ')}.`}
      </p>
    </>
  );
}
