import type { BodyField, ParamsOf } from '@sotto/contract';
import type { ControlContracts } from '@sotto/contract/control';
import { useState } from 'react';
import { typedUsd } from '../format/format.ts';
import { bodies } from './bodies.ts';
import { type Answer, type Body, type BodyRoute, callWith } from './call.ts';
import { ApiError, aboutWhatWasTyped, errorAt, needsNewSignIn, sentenceOf } from './errors.ts';
import { readBody, type ShownField } from './read-body.ts';
import { type Change, type ChangeOptions, useChange } from './use-change.ts';
import { type Draft, useDraft } from './use-draft.ts';

/** The names of a body's fields. A field within another object has both names: `auto_top_up.threshold_usd`. */
type FieldName<Part> = Part extends readonly unknown[]
  ? never
  : Part extends object
    ? { [Name in keyof Part & string]-?: Name | `${Name}.${FieldName<NonNullable<Part[Name]>>}` }[keyof Part & string]
    : never;

type FieldValue<Part, Name> = Part extends object
  ? Name extends `${infer Outer}.${infer Inner}`
    ? Outer extends keyof Part
      ? FieldValue<NonNullable<Part[Outer]>, Inner>
      : never
    : Name extends keyof Part
      ? Part[Name]
      : never
  : never;

type Values<Key extends BodyRoute> = {
  readonly [Name in FieldName<Body<Key>>]?: FieldValue<Body<Key>, Name> | undefined;
};

interface FieldOptions<Value> {
  /** The sentence for a text that the field does not take. Default: the one of its kind. */
  readonly mistake?: string;
  /** Whether the field takes a value of the right type. */
  accepts?(value: Value): boolean;
  /** The user cannot leave it empty, even if a body may omit it. */
  readonly required?: boolean;
  /** False: it is not kept while the user signs in again, such as a text that confirms a deletion. */
  readonly keeps?: false;
  /** The field shows every error of the form, as the only one that may be wrong. */
  readonly every?: boolean;
}

interface FormOptions<Key extends BodyRoute, Result> extends Omit<ChangeOptions<Result, Body<Key>>, 'mutationFn'> {
  /** The values that the fields begin with. */
  readonly start?: Values<Key>;
  /** The part of the body that the form does not show. */
  readonly rest?: Values<Key>;
  /** The fields that the user's next change begins anew, once this one is made. */
  readonly clears?: readonly FieldName<Body<Key>>[];
  /** Tells forms of the same route apart, such as by the object that they change. */
  readonly place?: string;
  /** Sends the body in another way than by a call of the route. */
  readonly send?: (body: Body<Key>) => Promise<Result>;
}

type Asked = FieldOptions<never> & Pick<ShownField, 'isChoice'>;

/** The parameters of a route, if it has any. */
type Place<Key extends BodyRoute> = keyof ParamsOf<ControlContracts[Key]> extends never
  ? unknown
  : { readonly params: ParamsOf<ControlContracts[Key]> };

/** What stands in the fields of a body, and the attributes of their controls. */
export interface FormFields<Part> {
  /** The attributes of a control that a person types into: a text, an amount, a count, or a list with an entry a line. */
  text<Name extends FieldName<Part>>(name: Name, options?: FieldOptions<FieldValue<Part, Name>>): TextAttributes;
  /** The attributes of a control that has the value itself. The form must state where it starts. */
  choice<Name extends FieldName<Part>>(
    name: Name,
    options?: FieldOptions<FieldValue<Part, Name>>,
  ): ChoiceAttributes<NonNullable<FieldValue<Part, Name>>>;
  /** The same, where null is a choice, too. */
  choiceOrNull<Name extends FieldName<Part>>(
    name: Name,
    options?: FieldOptions<FieldValue<Part, Name>>,
  ): ChoiceAttributes<NonNullable<FieldValue<Part, Name>> | null>;
  toggle(name: FieldName<Part>): { readonly checked: boolean; readonly onChange: (checked: boolean) => void };
  /** The sentence at a field. */
  errorAt(name: FieldName<Part>): string | undefined;
}

/** The form of a route, for `Form` and its fields. */
export interface RouteForm<Key extends BodyRoute, Result = Answer<Key>> extends FormFields<Body<Key>> {
  readonly change: Change<Result, Body<Key>, unknown>;
  /** The sentence that no field shows. Call it after the fields are drawn. */
  readonly errorElsewhere: () => string | undefined;
  readonly mistakes: Readonly<Record<string, string>>;
  readonly submit: () => void;
  /** Forgets what was kept of it. */
  readonly forget: () => void;
}

interface ChoiceAttributes<Value> {
  readonly value: Value;
  onChange(value: Value): void;
}

interface TextAttributes extends Bounds {
  readonly name: string;
  readonly value: string;
  readonly onChange: (event: { readonly target: { readonly value: string } }) => void;
  readonly error: string | undefined;
  readonly autoComplete: string;
}

interface Bounds {
  readonly type?: 'email';
  readonly inputMode: 'decimal' | 'numeric' | undefined;
  readonly required: boolean;
  readonly minLength: number | undefined;
  readonly maxLength: number | undefined;
}

/** Whether a person must sign in before the change can be made. */
const needsSignIn = (error: unknown): boolean =>
  needsNewSignIn(error) || (error instanceof ApiError && error.type === 'unauthenticated');

/**
 * A form that sends the body of a route. It reads from the contract what each field takes, and sends the fields that it
 * shows: only the changed ones, if the route is a PATCH. An error is at the field that it names. The form keeps the typed
 * texts after an error, and while the user signs in again on another page. It does not keep passwords and codes there.
 */
export function useForm<Key extends BodyRoute, Result = Answer<Key>>(
  route: Key,
  options: FormOptions<Key, Result> & Place<Key>,
): RouteForm<Key, Result>;
export function useForm<Key extends BodyRoute, Result>(
  route: Key,
  {
    params = {},
    start: started,
    rest,
    clears = [],
    place = '',
    send,
    onSuccess,
    onError,
    ...options
  }: FormOptions<Key, Result> & { readonly params?: Readonly<Record<string, string>> },
): RouteForm<Key, Result> {
  const fields = bodies[route] ?? {};
  const start: Draft = started ?? {};
  const { draft, set, clear, keep, forget } = useDraft(`${route} ${JSON.stringify(params)} ${place}`);
  const [mistakes, setMistakes] = useState<Readonly<Record<string, string>>>({});
  const change = useChange<Result, Body<Key>>({
    gcTime: 0,
    ...options,
    mutationFn: (body) => {
      if (send !== undefined) return send(body);
      const answer = callWith(route, params, body) as Promise<Result>;
      return route.includes(' /v1/auth/') ? aboutWhatWasTyped(answer) : answer;
    },
    onSuccess: (...done) => {
      forget();
      clear(clears);
      return onSuccess?.(...done);
    },
    onError: (...failed) => {
      if (needsSignIn(failed[0])) keep([...shown.keys()].filter((name) => shown.get(name)?.keeps !== false));
      return onError?.(...failed);
    },
  });
  const value = (name: string): unknown => (name in draft ? draft[name] : start[name]);
  // Of this drawing, so that a field which is no longer shown is not sent.
  const shown = new Map<string, Asked>();
  const isAt = (name: string): boolean => shown.get(name)?.every === true || errorAt(change.error, name) !== undefined;
  const show = (name: string, asked: Asked = {}): void => void shown.set(name, asked);
  /** The fields that show their errors. */
  const told = new Set<string>();
  const sentenceAt = (name: string): string | undefined => {
    told.add(name);
    return mistakes[name] ?? (change.error !== null && isAt(name) ? sentenceOf(change.error) : undefined);
  };
  const choiceOf = (name: string, asked?: Asked): ChoiceAttributes<never> => {
    show(name, asked);
    return { value: value(name) as never, onChange: (next) => set(name, next) };
  };
  const mistakeElsewhere = (): string | undefined =>
    Object.entries(mistakes).find(([name]) => shown.has(name) && !told.has(name))?.[1];
  return {
    change,
    mistakes,
    forget,
    errorAt: sentenceAt,
    text: (name, asked) => {
      show(name, asked);
      return {
        name,
        value: typedOf(value(name)),
        onChange: ({ target }) => set(name, target.value),
        error: sentenceAt(name),
        autoComplete: 'off',
        ...boundsOf(fields[name], asked?.required),
      };
    },
    choice: (name, asked) => choiceOf(name, { ...asked, isChoice: true }),
    choiceOrNull: choiceOf,
    toggle: (name) => {
      show(name);
      return { checked: value(name) === true, onChange: (checked) => set(name, checked) };
    },
    errorElsewhere: () =>
      mistakeElsewhere() ?? (change.error === null || [...told].some(isAt) ? undefined : sentenceOf(change.error)),
    submit: () => {
      const asked = [...shown].map(
        ([name, rule]): ShownField => ({ ...rule, name, value: value(name), start: start[name] }),
      );
      const read = readBody(fields, asked, { rest: rest ?? {}, onlyChanged: route.startsWith('PATCH ') });
      setMistakes(read.mistakes);
      // The contract names the fields; the compiler cannot follow them through names with dots.
      if (Object.keys(read.mistakes).length === 0) change.mutate(read.body as Body<Key>);
      // The service's error is about a body that the user has changed since.
      else if (change.isError) change.reset();
    },
  };
}

/** The attributes of a control that keep texts out which its field does not take. */
const boundsOf = (field: BodyField | undefined, required = false): Bounds => ({
  ...(field?.email === true ? { type: 'email' } : {}),
  inputMode: field?.type === 'number' ? 'decimal' : field?.type === 'integer' ? 'numeric' : undefined,
  // A missing amount gets the same sentence as a wrong one. An empty field whose value may be null is one.
  required: required || (field?.required === true && field.type !== 'number' && field.nullable !== true),
  minLength: field?.type === 'text' && (field.minLength ?? 0) > 1 ? field.minLength : undefined,
  maxLength: field?.maxLength,
});

/** A value as a person types it. */
const typedOf = (value: unknown): string =>
  typeof value === 'number' ? typedUsd(value) : Array.isArray(value) ? value.join('\n') : String(value ?? '');
