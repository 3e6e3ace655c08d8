/** The heart of it: fields for the parts of a key, and what the question means while one types. */

import { useEffect, useState } from 'preact/hooks';
import type { Condition, EntityInfo, PartInfo, Planned, Question } from '../server/api.js';
import { Code, Pieces } from './parts.js';
import { requests } from './requests.js';

const FORMS = [
  ['is', 'is'],
  ['range', 'from … to below'],
  ['startsWith', 'starts with'],
  ['in', 'one of (a, b)'],
] as const;
type Form = (typeof FORMS)[number][0];

const CONDITIONS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'startsWith', 'in', 'exists'];

type Asked = NonNullable<Question['key']>[string];

const formOf = (asked: Asked | undefined): Form => {
  if (asked === undefined || typeof asked === 'string') return 'is';
  if ('startsWith' in asked) return 'startsWith';
  return 'in' in asked ? 'in' : 'range';
};

export interface KeyFormProps {
  readonly entity: EntityInfo;
  /** What is shown. */
  readonly question: Question;
  readonly run: (question: Question) => void;
}

export function KeyForm({ entity, question, run }: KeyFormProps) {
  const [draft, setDraft] = useState(question);
  const [planned, setPlanned] = useState<Planned>();
  const shown = JSON.stringify(question);
  useEffect(() => setDraft(JSON.parse(shown) as Question), [shown]);

  const text = JSON.stringify(draft);
  useEffect(() => {
    const left = new AbortController();
    const timer = setTimeout(() => {
      requests.plan(entity.name, JSON.parse(text) as Question, left.signal).then(setPlanned, () => undefined);
    }, 120);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [entity.name, text]);

  const index = entity.indexes.find(({ name }) => name === draft.index);
  const parts = index?.parts ?? entity.parts;
  const setPart = (name: string, asked: Asked): void => {
    const { [name]: _, ...others } = draft.key ?? {};
    const empty = typeof asked === 'string' && asked === '';
    const key = empty ? others : { ...others, [name]: asked };
    setDraft(without({ ...draft, key }));
  };
  const where = draft.where ?? [];
  const setWhere = (conditions: readonly Condition[]): void =>
    setDraft(without({ ...draft, where: conditions }));

  return (
    <form
      class="key-form"
      onSubmit={(event) => {
        event.preventDefault();
        run(draft);
      }}
    >
      <fieldset>
        <legend>{index === undefined ? 'Key' : `Index ${index.name}`}</legend>
        <div class="fields">
          {parts.map((part, at) => (
            <PartField
              key={`${draft.index ?? ''}/${part.name}`}
              part={part}
              first={at === 0}
              asked={draft.key?.[part.name]}
              refused={planned?.refused[part.name]}
              set={(asked) => setPart(part.name, asked)}
            />
          ))}
        </div>
        <div class="options">
          {entity.indexes.length > 0 && (
            <label>
              through
              <select
                value={draft.index ?? ''}
                onChange={({ currentTarget }) => setDraft(withIndex(draft, currentTarget.value))}
              >
                <option value="">the key</option>
                {entity.indexes.map(({ name }) => (
                  <option key={name} value={name}>
                    index {name}
                  </option>
                ))}
              </select>
            </label>
          )}
          <label>
            <input
              type="checkbox"
              checked={draft.reverse === true}
              onChange={({ currentTarget }) =>
                setDraft(without({ ...draft, reverse: currentTarget.checked }))
              }
            />
            from the last key on
          </label>
          <label>
            as of
            <input
              type="datetime-local"
              step="1"
              value={draft.asOf === undefined ? '' : new Date(draft.asOf).toISOString().slice(0, 19)}
              onChange={({ currentTarget }) => {
                const { asOf: _, ...others } = draft;
                const time = Date.parse(`${currentTarget.value}Z`);
                setDraft(Number.isNaN(time) ? others : { ...others, asOf: time });
              }}
            />
            UTC
          </label>
        </div>
        {where.map((condition, at) => (
          <ConditionField
            key={at}
            entity={entity}
            condition={condition}
            set={(next) =>
              setWhere(next === undefined ? where.filter((_, i) => i !== at) : where.with(at, next))
            }
          />
        ))}
        <div class="actions">
          <button type="submit" class="main">
            Show rows
          </button>
          {entity.columns.length > 0 && (
            <button
              type="button"
              onClick={() =>
                setWhere([...where, { property: entity.columns[0]!.property, operator: 'eq', value: '' }])
              }
            >
              Add a condition on a column
            </button>
          )}
          <button type="button" onClick={() => run({})}>
            Clear
          </button>
        </div>
      </fieldset>
      <PlanBox planned={planned} layout={entity.layout} />
    </form>
  );
}

interface PartFieldProps {
  readonly part: PartInfo;
  readonly first: boolean;
  readonly asked: Asked | undefined;
  readonly refused: string | undefined;
  readonly set: (asked: Asked) => void;
}

function PartField({ part, first, asked, refused, set }: PartFieldProps) {
  const [form, setForm] = useState<Form>(formOf(asked));
  const value = (operator: string): string =>
    asked === undefined
      ? ''
      : typeof asked === 'string'
        ? operator === 'is'
          ? asked
          : ''
        : (asked[operator] ?? '');
  const isRefused = refused !== undefined && asked === undefined;
  const input = (operator: string, label: string, focus: boolean) => (
    <input
      type="text"
      aria-label={`${part.name} ${label}`}
      autocomplete="off"
      spellcheck={false}
      data-first={focus ? '' : undefined}
      disabled={isRefused}
      placeholder={/date|time/i.test(part.codec) ? '2001-02-01T00:00:00Z' : ''}
      value={value(operator)}
      onInput={({ currentTarget }) => {
        const typed = currentTarget.value;
        if (operator === 'is') return set(typed);
        const others = typeof asked === 'object' ? asked : {};
        const next = Object.fromEntries(
          Object.entries({ ...others, [operator]: typed }).filter(([, each]) => each !== ''),
        );
        set(Object.keys(next).length === 0 ? '' : next);
      }}
    />
  );
  return (
    <div class={`field ${isRefused ? 'refused' : ''}`}>
      <div class="field-name">
        <strong>{part.name}</strong> <small>{part.codec}</small>
        {part.descending && <small> newest first</small>}
      </div>
      <div class="field-value">
        <select
          aria-label={`${part.name}: how it is asked for`}
          value={form}
          disabled={isRefused}
          onChange={({ currentTarget }) => {
            setForm(currentTarget.value as Form);
            set('');
          }}
        >
          {FORMS.filter(([name]) => part.recoverable || name === 'is' || name === 'in').map(
            ([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ),
          )}
        </select>
        {form === 'range' ? (
          <>
            {input('gte', 'from', first)}
            {input('lt', 'to below', false)}
          </>
        ) : (
          input(form, form === 'is' ? 'is' : form, first)
        )}
      </div>
      {isRefused && <small class="why">{refused}</small>}
    </div>
  );
}

interface ConditionFieldProps {
  readonly entity: EntityInfo;
  readonly condition: Condition;
  readonly set: (condition: Condition | undefined) => void;
}

function ConditionField({ entity, condition, set }: ConditionFieldProps) {
  return (
    <div class="condition">
      <select
        aria-label="Column"
        value={condition.property}
        onChange={({ currentTarget }) => set({ ...condition, property: currentTarget.value })}
      >
        {entity.columns.map(({ property }) => (
          <option key={property} value={property}>
            {property}
          </option>
        ))}
      </select>
      <select
        aria-label="Operator"
        value={condition.operator}
        onChange={({ currentTarget }) => set({ ...condition, operator: currentTarget.value })}
      >
        {CONDITIONS.map((operator) => (
          <option key={operator} value={operator}>
            {operator}
          </option>
        ))}
      </select>
      <input
        type="text"
        aria-label="Value"
        value={condition.value}
        onInput={({ currentTarget }) => set({ ...condition, value: currentTarget.value })}
      />
      <button type="button" aria-label="Remove the condition" onClick={() => set(undefined)}>
        ×
      </button>
    </div>
  );
}

interface Explained {
  readonly kind: string;
  readonly fanOut: number;
  readonly order: string;
  readonly ranges: readonly { readonly printed: string }[];
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
}

function PlanBox({ planned, layout }: { readonly planned: Planned | undefined; readonly layout: string }) {
  const plan = planned?.explanation as unknown as Explained | null | undefined;
  return (
    <section class="plan" aria-label="What it means" aria-live="polite">
      <p class="layout">
        <code>{layout}</code>
      </p>
      {planned?.pieces != null && <Pieces pieces={planned.pieces} />}
      {planned?.problem != null && (
        <p class="problem">
          <strong>{planned.problem.code}</strong> {planned.problem.message}
        </p>
      )}
      {plan != null && (
        <>
          <p class="facts">
            <b>{plan.kind}</b>, {plan.ranges.length} {plan.ranges.length === 1 ? 'range' : 'ranges'}, fan-out{' '}
            {plan.fanOut}, order {plan.order}
          </p>
          <ul class="ranges">
            {plan.ranges.slice(0, 4).map(({ printed }) => (
              <li key={printed}>
                <code>{printed}</code>
              </li>
            ))}
            {plan.ranges.length > 4 && <li>… {plan.ranges.length - 4} more</li>}
          </ul>
          {plan.warnings.map(({ code, message }) => (
            <p key={code} class="warning">
              <strong>{code}</strong> {message}
            </p>
          ))}
          <details>
            <summary>explain() and the query as TypeScript</summary>
            <Code label="explain()" text={planned!.text} />
            <Code label="TypeScript" text={planned!.code} />
          </details>
        </>
      )}
    </section>
  );
}

/** Without what says nothing: addresses stay short. */
function without(question: Question): Question {
  const { key, where, reverse, ...others } = question;
  return {
    ...others,
    ...(key !== undefined && Object.keys(key).length > 0 && { key }),
    ...(where !== undefined && where.length > 0 && { where }),
    ...(reverse === true && { reverse }),
  };
}

function withIndex(question: Question, index: string): Question {
  const { key: _key, index: _index, ...others } = question;
  return index === '' ? others : { ...others, index };
}
