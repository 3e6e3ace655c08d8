import { useEffect, useState } from 'preact/hooks';
import type { Condition, EntityInfo, PartInfo, Planned, Question, SavedQuery } from '../server/api.js';
import { PlanBox } from './plan-box.js';
import { requests } from './requests.js';

const FORMS = [
  ['is', 'is'],
  ['range', 'is between'],
  ['startsWith', 'starts with'],
  ['in', 'is one of'],
] as const;
type Form = (typeof FORMS)[number][0];

const CONDITIONS = [
  ['eq', '='],
  ['ne', '≠'],
  ['gt', '>'],
  ['gte', '≥'],
  ['lt', '<'],
  ['lte', '≤'],
  ['startsWith', 'starts with'],
  ['in', 'is one of'],
  ['exists', 'has a value (true, false)'],
] as const;

type Asked = NonNullable<Question['key']>[string];

const formOf = (asked: Asked | undefined): Form => {
  if (asked === undefined || typeof asked === 'string') return 'is';
  if ('startsWith' in asked) return 'startsWith';
  return 'in' in asked ? 'in' : 'range';
};

interface KeyFormProps {
  readonly entity: EntityInfo;
  /** The question that the form shows. */
  readonly question: Question;
  readonly run: (question: Question) => void;
  /** Undefined: queries cannot be saved. */
  readonly save: ((query: SavedQuery) => void) | undefined;
}

/** The form of a key: fields for its parts in their order, and beside them the bytes, ranges and plan of what is asked. */
export function KeyForm({ entity, question, run, save }: KeyFormProps) {
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
            order
            <select
              value={draft.reverse === true ? 'reverse' : ''}
              onChange={({ currentTarget }) =>
                setDraft(without({ ...draft, reverse: currentTarget.value === 'reverse' }))
              }
            >
              <option value="">of the key</option>
              <option value="reverse">reversed</option>
            </select>
          </label>
          <label>
            limit
            <input
              type="number"
              min="1"
              class="limit"
              placeholder="none"
              value={draft.limit ?? ''}
              onInput={({ currentTarget }) => {
                const { limit: _, ...others } = draft;
                const limit = currentTarget.valueAsNumber;
                setDraft(Number.isInteger(limit) && limit > 0 ? { ...others, limit } : others);
              }}
            />
          </label>
          <label>
            as of (UTC)
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
              Condition on a column
            </button>
          )}
          <button type="button" onClick={() => run({})}>
            Clear
          </button>
          {save !== undefined && (
            <SaveButton save={(name) => save({ name, entity: entity.name, question: draft })} />
          )}
        </div>
      </fieldset>
      <PlanBox planned={planned} />
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

/** The bounds of a range, each with what it may be. */
const BOUNDS = [
  ['gte', 'gt', 'from', '≥', '>'],
  ['lt', 'lte', 'to', '<', '≤'],
] as const;

function PartField({ part, first, asked, refused, set }: PartFieldProps) {
  const [form, setForm] = useState<Form>(formOf(asked));
  const isRefused = refused !== undefined && asked === undefined;
  const operators = typeof asked === 'object' ? asked : {};
  const textFor = (operator: string): string =>
    typeof asked === 'string' ? (operator === 'is' ? asked : '') : (operators[operator] ?? '');
  const setOperator = (operator: string, typed: string, instead?: string): void => {
    if (operator === 'is') {
      set(typed);
      return;
    }
    const next = Object.fromEntries(
      Object.entries({ ...operators, [operator]: typed }).filter(
        ([name, each]) => each !== '' && name !== instead,
      ),
    );
    set(Object.keys(next).length === 0 ? '' : next);
  };
  const input = (operator: string, label: string, focus: boolean) => (
    <input
      type="text"
      aria-label={`${part.name} ${label}`}
      autocomplete="off"
      spellcheck={false}
      data-first={focus ? '' : undefined}
      disabled={isRefused}
      placeholder={placeholderOf(part, operator)}
      value={textFor(operator)}
      onInput={({ currentTarget }) => setOperator(operator, currentTarget.value)}
    />
  );
  return (
    <div class={`field ${isRefused ? 'refused' : ''}`}>
      <div class="field-name">
        <strong>{part.name}</strong>{' '}
        <small>
          {part.codec}
          {part.descending && ', greatest first'}
          {!part.recoverable && ', digest only'}
        </small>
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
        {form === 'range'
          ? BOUNDS.map(([usual, other, label, usualSign, otherSign], at) => {
              const operator = operators[other] === undefined ? usual : other;
              const instead = operator === usual ? other : usual;
              return (
                <span class="bound" key={label}>
                  <button
                    type="button"
                    aria-label={`${part.name} ${label}: ${operator === usual ? usualSign : otherSign}`}
                    title="Click to include or exclude the bound"
                    disabled={isRefused}
                    onClick={() => setOperator(instead, textFor(operator), operator)}
                  >
                    {operator === usual ? usualSign : otherSign}
                  </button>
                  {input(operator, label, first && at === 0)}
                </span>
              );
            })
          : input(form, form, first)}
      </div>
      {isRefused && <small class="why">{refused}</small>}
    </div>
  );
}

function placeholderOf({ codec }: PartInfo, operator: string): string {
  if (operator === 'in') return 'a, b, c';
  if (/date|time/i.test(codec)) return '2001-02-01T00:00:00Z';
  return '';
}

/** Asks for a name, and saves under it. */
function SaveButton({ save }: { readonly save: (name: string) => void }) {
  const [name, setName] = useState<string>();
  if (name === undefined)
    return (
      <button type="button" onClick={() => setName('')}>
        Save query
      </button>
    );
  const done = (): void => {
    if (name.trim() !== '') save(name.trim());
    setName(undefined);
  };
  return (
    <span class="save">
      <input
        type="text"
        aria-label="Name of the query"
        placeholder="name"
        // The button that was pressed is gone.
        ref={(input) => input?.focus()}
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          done();
        }}
      />
      <button type="button" onClick={done}>
        Save
      </button>
    </span>
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
        {CONDITIONS.map(([operator, sign]) => (
          <option key={operator} value={operator}>
            {sign}
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
