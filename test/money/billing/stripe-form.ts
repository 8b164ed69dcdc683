import type { Reply } from '../../kit/stand-in-server.ts';

export type Fields = Record<string, unknown>;

export class Refusal extends Error {
  readonly reply: Reply;
  constructor(status: number, error: Fields) {
    super(String(error.message));
    this.reply = { status, body: { error } };
  }
}
export const invalid = (message: string, more: Fields = {}): never => {
  throw new Refusal(400, { type: 'invalid_request_error', message, ...more });
};
export const missing = (): never => {
  throw new Refusal(404, { type: 'invalid_request_error', code: 'resource_missing', message: 'No such object' });
};

export function allow(body: Fields, known: readonly string[]): void {
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown !== undefined) invalid(`Received unknown parameter: ${unknown}`, { code: 'parameter_unknown' });
}

/** Parses `a[b][0]=c` into `{a: {b: {0: c}}}`. */
export function parseForm(text: string): Fields {
  const parsed: Fields = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const path = name.split(/[[\]]+/).filter((part) => part !== '');
    let at = parsed;
    for (const part of path.slice(0, -1)) {
      at[part] ??= {};
      at = at[part] as Fields;
    }
    at[path.at(-1) ?? ''] = value;
  }
  return parsed;
}
