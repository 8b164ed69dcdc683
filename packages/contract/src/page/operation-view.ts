import type { MediaTypes, Operation, Parameter } from '../document/build-document.ts';
import type { JsonSchema } from '../route.ts';
import { block, escaped, inline, prose } from './html.ts';
import { typeOf } from './schema-view.ts';

/** The context of an operation in the page. */
export interface Place {
  /** Prefix of anchors, because two origins may have operations and schemas with the same name. */
  readonly prefix: string;
  /** The public address of the origin. */
  readonly origin: string;
  readonly method: string;
  readonly path: string;
}

const credentialNames: Readonly<Record<string, string>> = {
  inferenceKey: 'inference key (<code>authorization: Bearer</code>)',
  managementKey: 'management key (<code>authorization: Bearer</code>)',
  session: 'session cookie',
  ticket: 'ticket (<code>x-router-ticket</code>)',
  attestationTicket: 'attestation ticket (<code>x-router-ticket</code>)',
};

/** Renders one operation: the request, an example command and the answers. */
export function operationView(operation: Operation, place: Place): string {
  const { operationId, summary, description, parameters = [], requestBody, security, responses } = operation;
  const { prefix, method, path } = place;
  const id = `${prefix}-${operationId}`;
  const credentials = security
    .flatMap((each) => Object.keys(each))
    .map((name) => credentialNames[name] ?? escaped(name));
  return `<section class="operation" id="${id}" aria-labelledby="${id}-h">
<h4 id="${id}-h"><a href="#${id}">${escaped(summary)}</a></h4>
<p class="address"><span class="method ${method}">${method.toUpperCase()}</span> <code>${escaped(path).replaceAll('/', '/<wbr>')}</code></p>
${description === undefined ? '' : prose(description)}
<p><strong>Credential:</strong> ${credentials.length === 0 ? 'none' : credentials.join(', or ')}.</p>
${parametersView(parameters, prefix)}
${requestBody === undefined ? '' : `<p><strong>Body:</strong> ${contentTypes(requestBody.content, prefix)}</p>`}
${Object.keys(responses).some((status) => status.startsWith('2')) ? block(curlOf(operation, place), `Example of ${summary}`) : ''}
${responsesView(operation, prefix)}
</section>`;
}

function parametersView(parameters: readonly Parameter[], prefix: string): string {
  if (parameters.length === 0) return '';
  const items = parameters.map(
    ({ name, in: where, required, description, schema }) =>
      `<li><code class="name">${escaped(name)}</code> <span class="type">${where}, ${typeOf(schema, prefix)}</span> ${required ? '<span class="required">required</span>' : ''}<div class="note">${inline(description)}</div></li>`,
  );
  return `<p><strong>Parameters</strong></p><ul class="fields">${items.join('')}</ul>`;
}

const contentTypes = (content: MediaTypes, prefix: string): string =>
  Object.entries(content)
    .map(([type, { schema }]) => `<code>${escaped(type)}</code>${schemaWord(schema, prefix)}`)
    .join(', ');

/** Links the schema of a body if it has a name. For events, links the schema of each event. */
function schemaWord(schema: MediaTypes[string]['schema'], prefix: string): string {
  const { $ref, contentSchema } = schema;
  if (typeof $ref === 'string') return ` ${typeOf(schema, prefix)}`;
  return contentSchema === undefined ? '' : ` of ${typeOf(contentSchema as JsonSchema, prefix)}`;
}

/** A curl command for the operation, with placeholders in capitals. */
function curlOf({ security, requestBody, parameters = [] }: Operation, { origin, method, path }: Place): string {
  const needed = parameters.filter(({ in: where, required }) => where === 'query' && required);
  const query = needed.map((each) => `${each.name}=${exampleOf(each)}`).join('&');
  const address = `${origin}${path.replace(/\{(\w+)\}/g, (_, name: string) => capitals(name))}`;
  const [credential = ''] = security.flatMap((each) => Object.keys(each));
  const json = requestBody?.content['application/json'];
  const parts = [
    `curl ${method === 'get' || (method === 'post' && json !== undefined) ? '' : `-X ${method.toUpperCase()} `}"${address}${query === '' ? '' : `?${query}`}"`,
    ...(credentialArguments[credential] === undefined ? [] : [credentialArguments[credential]]),
    ...parameters
      .filter(({ in: where, required }) => where === 'header' && required)
      .map(({ name }) => `-H "${name}: $${capitals(name)}"`),
    ...(json === undefined
      ? []
      : ["-H 'content-type: application/json'", `-d '${JSON.stringify(json.example ?? {}).replaceAll("'", "'\\''")}'`]),
  ];
  return parts.join(' \\\n  ');
}

const credentialArguments: Readonly<Record<string, string>> = {
  inferenceKey: '-H "authorization: Bearer $INFERENCE_KEY"',
  managementKey: '-H "authorization: Bearer $MANAGEMENT_KEY"',
  accessToken: '-H "authorization: Bearer $ACCESS_TOKEN"',
  session: '-b "$COOKIES"',
  ticket: '-H "x-router-ticket: $TICKET"',
  attestationTicket: '-H "x-router-ticket: $TICKET"',
};

const capitals = (name: string): string =>
  name
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toUpperCase();
const exampleOf = (parameter: Parameter): string =>
  'example' in parameter ? String(parameter.example) : `$${capitals(parameter.name)}`;

function responsesView({ responses }: Operation, prefix: string): string {
  const rows = Object.entries(responses).map(([status, { description, content = {}, headers = {} }]) => {
    const isError = Number(status) >= 400 && content['application/json']?.examples !== undefined;
    const names = isError ? [] : Object.keys(headers);
    return `<dt>${status}</dt><dd>${prose(description)}${
      isError || Object.keys(content).length === 0 ? '' : `<p>${contentTypes(content, prefix)}</p>`
    }${names.length === 0 ? '' : `<p class="headers">Headers: ${names.map((name) => `<code>${escaped(name)}</code>`).join(' ')}</p>`}${examplesOf(content)}</dd>`;
  });
  return `<details><summary>Answers: ${Object.keys(responses).join(', ')}</summary><dl class="answers">${rows.join('')}</dl></details>`;
}

function examplesOf(content: MediaTypes): string {
  return Object.entries(content)
    .filter(([, media]) => media.example !== undefined)
    .map(([type, { example }]) =>
      block(typeof example === 'string' ? example : JSON.stringify(example, null, 2), `Example of ${type}`),
    )
    .join('');
}
