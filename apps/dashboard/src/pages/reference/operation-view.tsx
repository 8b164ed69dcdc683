import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Badge } from '../../ui/badge.tsx';
import { linkClass } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Card } from '../../ui/surface.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Sentence } from '../../ui/text.tsx';
import { useDeployment } from '../guides/use-deployment.ts';
import {
  type Content,
  credentialNames,
  type Described,
  type Field,
  fieldsOf,
  sampleCredentials,
  samplesOf,
  typeOf,
} from './described.ts';
import { parsedObject, runKindOf } from './run.ts';
import { Runner } from './runner.tsx';

const languageKey = 'sotto.language';
const languages = ['curl', 'python', 'javascript'] as const;
type Language = (typeof languages)[number];
const languageNames: Readonly<Record<Language, string>> = { curl: 'curl', python: 'Python', javascript: 'JavaScript' };

/** Shows one operation: its address, fields and answers, and beside them a request in three languages, which can be run. */
export function OperationView({ described }: { described: Described }) {
  const { method, path, operation, address } = described;
  const { description, security, parameters = [], requestBody } = operation;
  const credentials = security.flatMap((each) => Object.keys(each)).map((name) => credentialNames[name] ?? name);
  const { models } = useDeployment();
  const own = useMemo(() => withModels(described, models), [described, models]);
  const example = own.operation.requestBody?.content['application/json']?.example;
  const [typed, setTyped] = useState<string>();
  const body = typed ?? JSON.stringify(example ?? {}, null, 2);
  const parts = [
    ['request', 'Request'],
    ...(runKindOf(described) === undefined ? [] : [['try-it', 'Try it']]),
    ...(parameters.length === 0 ? [] : [['parameters', 'Parameters']]),
    ...(requestBody === undefined ? [] : [['body', 'Body']]),
    ['answers', 'Answers'],
  ] as const;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,1fr)_clamp(20rem,25vw,25rem)]">
      <Card>
        <p className="flex flex-wrap items-center gap-2">
          <Badge tone={method === 'get' ? 'good' : method === 'delete' ? 'danger' : 'info'}>
            {method.toUpperCase()}
          </Badge>
          <code className="min-w-0 font-mono text-sm break-all">{address + path}</code>
        </p>
        {description !== undefined && (
          <div className="mt-3 max-w-prose space-y-2">
            {description.split('\n\n').map((paragraph) => (
              <p key={paragraph}>
                <Sentence text={paragraph} />
              </p>
            ))}
          </div>
        )}
        <p className="mt-3 text-sm text-muted">
          {credentials.length === 0 ? 'Needs no credential.' : `Needs ${credentials.join(', or ')}.`}
        </p>
        <nav aria-label="On this page" className="mt-3 flex flex-wrap gap-x-4 gap-y-1 text-sm">
          {parts.map(([id, name]) => (
            <a key={id} href={`#${id}`} className={linkClass}>
              {name}
            </a>
          ))}
        </nav>
      </Card>
      {/* Stays in sight beside the fields. */}
      <div className="space-y-6 xl:sticky xl:top-18 xl:col-start-2 xl:row-span-2 xl:row-start-1 xl:max-h-[calc(100dvh-6rem)] xl:overflow-y-auto">
        <div id="request" className="scroll-mt-20">
          <Samples described={own} body={typed === undefined ? undefined : parsedObject(typed)} />
        </div>
        <div id="try-it" className="scroll-mt-20 empty:hidden">
          <Runner described={described} body={body} onBody={setTyped} />
        </div>
      </div>
      <div className="space-y-6">
        {parameters.length > 0 && (
          <div id="parameters" className="scroll-mt-20">
            <Card title="Parameters">
              <FieldList
                described={described}
                fields={parameters.map(({ name, in: where, required, description: note, schema }) => ({
                  ...{ name, note, schema, isRequired: required, type: `${where}, ${typeOf(schema)}` },
                }))}
              />
            </Card>
          </div>
        )}
        {requestBody !== undefined && (
          <div id="body" className="scroll-mt-20">
            <Card title="Body">
              <Contents described={described} content={requestBody.content} of="the body" />
            </Card>
          </div>
        )}
        <div id="answers" className="scroll-mt-20 space-y-6">
          <Answers described={described} />
        </div>
      </div>
    </div>
  );
}

/** The operation with models of this deployment in the examples of its body. */
function withModels(described: Described, models: Readonly<Record<string, string>>): Described {
  const { operation } = described;
  const { requestBody } = operation;
  if (requestBody === undefined) return described;
  const text = Object.entries(models).reduce(
    (rest, [shown, own]) => rest.replaceAll(JSON.stringify(shown), JSON.stringify(own)),
    JSON.stringify(requestBody.content),
  );
  return { ...described, operation: { ...operation, requestBody: { ...requestBody, content: JSON.parse(text) } } };
}

/** The sentence that says where the value of a sample's variable comes from. */
const ticketNote = (
  <>
    Each request needs a new <code className="font-mono">TICKET</code>.{' '}
    <Link
      to="/reference/$origin/$operation"
      params={{ origin: 'control', operation: 'createTicket' }}
      className={linkClass}
    >
      Get a ticket
    </Link>{' '}
    with your key and the same model first.
  </>
);

function Samples({ described, body }: { described: Described; body: object | undefined }) {
  const credentials = sampleCredentials(described);
  const [chosen, setCredential] = useState<string>();
  const credential = chosen ?? credentials[0];
  const [language, setLanguage] = useState<Language>(
    () => languages.find((each) => each === localStorage.getItem(languageKey)) ?? 'curl',
  );
  const samples = samplesOf(described, credential, body);
  return (
    <Card title="Request">
      {credential !== undefined && credentials.length > 1 && (
        <SelectField
          label="Sent with"
          className="mb-3"
          value={credential}
          choices={credentials.map((name) => ({ value: name, label: credentialNames[name] ?? name }))}
          onChange={setCredential}
        />
      )}
      {credential === 'ticket' && <p className="mb-3 text-sm text-muted">{ticketNote}</p>}
      <Tabs
        label="Languages"
        value={language}
        onChange={(chosen) => {
          localStorage.setItem(languageKey, chosen);
          setLanguage(chosen);
        }}
        tabs={languages.map((value) => ({
          ...{ value, label: languageNames[value] },
          content: <CodeBlock code={samples[value]} label={languageNames[value]} />,
        }))}
      />
    </Card>
  );
}

interface ContentsProps {
  readonly described: Described;
  readonly content: Content;
  /** "the body", "answer 200". */
  readonly of: string;
}

/** A body by its content types, each with its fields and an example. */
function Contents({ described, content, of }: ContentsProps) {
  return (
    <div className="space-y-4">
      {Object.entries(content).map(([type, { schema, example }]) => {
        const fields = fieldsOf(schema, described.schemas);
        const note = typeof schema.description === 'string' ? schema.description : undefined;
        return (
          <div key={type} className="space-y-2">
            <p className="text-sm text-muted">
              <code className="font-mono">{type}</code>
              {fields.length === 0 && `: ${typeOf(schema)}`}
            </p>
            {note !== undefined && (
              <p className="text-sm">
                <Sentence text={note} />
              </p>
            )}
            <FieldList described={described} fields={fields} />
            {example !== undefined && (
              <CodeBlock
                label={`Example of ${of}, ${type}`}
                code={typeof example === 'string' ? example : JSON.stringify(example, null, 2)}
              />
            )}
          </div>
        );
      })}
    </div>
  );
}

/** A field may hold itself; and who wants the deepest fields reads the document. */
const deepest = 6;

function FieldList({
  described,
  fields,
  depth = 0,
}: {
  described: Described;
  fields: readonly Field[];
  depth?: number;
}) {
  if (fields.length === 0) return null;
  return (
    <ul className="space-y-2 border-l-2 border-line pl-3">
      {fields.map((field) => (
        <FieldLine key={field.name} described={described} field={field} depth={depth} />
      ))}
    </ul>
  );
}

function FieldLine({ described, field, depth }: { described: Described; field: Field; depth: number }) {
  const inner = depth < deepest ? fieldsOf(field.schema, described.schemas) : [];
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <p className="flex flex-wrap items-baseline gap-x-2">
        <code className="font-mono text-sm font-semibold break-all">{field.name}</code>
        <span className="min-w-0 text-sm break-words text-muted">{field.type}</span>
        {field.isRequired && <span className="text-sm text-warn">required</span>}
      </p>
      {field.note !== undefined && (
        <p className="max-w-prose text-sm">
          <Sentence text={field.note} />
        </p>
      )}
      {inner.length > 0 && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)} className="mt-1">
          <summary className="cursor-pointer text-sm text-muted hover:text-text">Fields of {field.name}</summary>
          {isOpen && (
            <div className="mt-1">
              <FieldList described={described} fields={inner} depth={depth + 1} />
            </div>
          )}
        </details>
      )}
    </li>
  );
}

/** The answers: first the good ones with their fields, then the errors in one table. */
function Answers({ described }: { described: Described }) {
  const answers = Object.entries(described.operation.responses);
  const good = answers.flatMap(([status, answer]) =>
    '$ref' in answer || Number(status) >= 400 ? [] : [{ status, ...answer }],
  );
  const errors = answers.filter(([status]) => Number(status) >= 400);
  return (
    <>
      {good.map(({ status, description, content, headers = {} }) => (
        <Card key={status} title={`Answer ${status}`} lead={<Sentence text={description} />}>
          {content !== undefined && <Contents described={described} content={content} of={`answer ${status}`} />}
          {Object.keys(headers).length > 0 && (
            <p className="mt-3 text-sm break-words text-muted">Headers: {Object.keys(headers).join(', ')}</p>
          )}
        </Card>
      ))}
      {errors.length > 0 && (
        <Card
          title="Errors"
          lead="All have the same shape: an error with a message, a type, a code, the field at fault and the request’s id."
        >
          <dl className="space-y-3">
            {errors.map(([status, { description }]) => (
              <div key={status} className="grid grid-cols-1 gap-x-4 sm:grid-cols-[4rem_minmax(0,1fr)]">
                <dt className="font-mono font-semibold">{status}</dt>
                <dd className="space-y-1">
                  {description.split('\n\n').map((line) => (
                    <p key={line} className="text-sm">
                      <Sentence text={line} />
                    </p>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </Card>
      )}
    </>
  );
}
