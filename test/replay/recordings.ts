import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { noteSkip } from '../kit/skips.ts';

/** A recorded answer of the OpenAI shape, as its files have it. */
export interface Recording {
  readonly name: string;
  readonly whole: string;
  /** Payloads of the stream, in order; undefined where only the whole answer was recorded. */
  readonly events: readonly string[] | undefined;
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const own = join(root, 'packages/providers/src/testing/recordings');
const shared = join(root, '../shared/recordings');
const openAiShaped = /^(own|alibaba|deepseek|groq|mistral|xai)-.*\.json$/;

/** Our own made-up recordings, and those of real providers where they lie beside the project. */
export function openAiRecordings(): Recording[] {
  if (existsSync(shared)) return [...readFolder(own), ...readFolder(shared)];
  noteSkip(
    'the replay of real providers’ answers',
    'put the recordings beside the project, into ../shared/recordings.',
  );
  return readFolder(own);
}

function readFolder(folder: string): Recording[] {
  return readdirSync(folder)
    .filter((file) => openAiShaped.test(file))
    .map((file) => {
      const name = file.slice(0, -'.json'.length);
      const chunks = join(folder, `${name}.chunks.txt`);
      return {
        name,
        whole: readFileSync(join(folder, file), 'utf8'),
        events: existsSync(chunks) ? readFileSync(chunks, 'utf8').trimEnd().split('\n') : undefined,
      };
    });
}

/** What an answer says, once put together. */
export interface Said {
  text: string;
  reasoning: string;
  /** In order of their index. */
  readonly calls: { readonly id: string; readonly name: string; readonly args: string }[];
  finish: string | undefined;
  /** The numbers of the OpenAI shape, by their path. */
  usage: Readonly<Record<string, number>>;
}

/** Answers, read by hand and on purpose without the code under test. */
interface Body {
  readonly id?: string;
  readonly model?: string;
  readonly system_fingerprint?: string | null;
  readonly x_groq?: { readonly id?: string };
  readonly choices: readonly {
    readonly message?: Message;
    readonly delta?: Message;
    readonly finish_reason?: string;
  }[];
  readonly usage?: Readonly<Record<string, number | Record<string, unknown>>> | null;
}

interface Message {
  readonly content?: string | readonly Part[] | null;
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
  readonly tool_calls?: readonly { readonly index?: number; readonly id?: string; readonly function: Called }[] | null;
}

interface Called {
  readonly name?: string;
  readonly arguments?: string;
}

type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly thinking: readonly { readonly text: string }[] };

const parse = (text: string): Body => JSON.parse(text) as Body;

const nothing = (): Said => ({ text: '', reasoning: '', calls: [], finish: undefined, usage: {} });

/** Reads a whole answer: a recording's, or ours. */
export function saidWhole(whole: string): Said {
  const { choices, usage } = parse(whole);
  const said = nothing();
  add(said, choices[0]?.message ?? {});
  said.finish = choices[0]?.finish_reason;
  said.usage = numbers(usage ?? {});
  return said;
}

/** Reads a stream's payloads: a recording's, or ours. */
export function saidInStream(payloads: readonly string[]): Said {
  const said = nothing();
  for (const payload of payloads) {
    const { choices, usage } = parse(payload);
    add(said, choices[0]?.delta ?? {});
    said.finish = choices[0]?.finish_reason ?? said.finish;
    if (usage) said.usage = numbers(usage);
  }
  return said;
}

function add(said: Said, { content, reasoning, reasoning_content, tool_calls }: Message): void {
  said.reasoning += reasoning_content ?? reasoning ?? '';
  for (const part of typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? [])) {
    if (part.type === 'thinking') said.reasoning += part.thinking.map(({ text }) => text).join('');
    else said.text += part.text;
  }
  for (const [position, piece] of (tool_calls ?? []).entries()) {
    const at = piece.index ?? position;
    const { id, name, args } = said.calls[at] ?? { id: '', name: '', args: '' };
    said.calls[at] = {
      id: id || (piece.id ?? ''),
      name: name || (piece.function.name ?? ''),
      args: args + (piece.function.arguments ?? ''),
    };
  }
}

function numbers(usage: NonNullable<Body['usage']>): Record<string, number> {
  const read: Record<string, number> = {};
  const take = (name: string, value: unknown): void => {
    if (typeof value === 'number') read[name] = value;
  };
  for (const name of ['prompt_tokens', 'completion_tokens', 'total_tokens']) take(name, usage[name]);
  for (const group of ['prompt_tokens_details', 'completion_tokens_details']) {
    for (const [name, value] of Object.entries(usage[group] ?? {})) take(`${group}.${name}`, value);
  }
  return read;
}

/** What the provider calls itself and its answer in a recording: nothing of it is a client's business. */
export function providersOwnNames({ whole, events }: Recording): string[] {
  const names = new Set<string>();
  for (const body of [whole, ...(events ?? [])].map(parse)) {
    for (const name of [body.id, body.model, body.system_fingerprint, body.x_groq?.id]) if (name) names.add(name);
  }
  return [...names];
}
