import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownRecordings } from '@sotto/providers/testing';
import { noteSkip } from '@sotto/test-servers';
import { bedrockEvent } from '../../kit/dialects/bedrock.ts';
import { type Said, saidReaders, withEvenArguments } from './said.ts';

export type RecordedApi = keyof typeof saidReaders;

/** A recorded answer from its files. Some answers were recorded only whole, or only as a stream. */
export interface Recording {
  readonly name: string;
  readonly api: RecordedApi;
  readonly whole: string | undefined;
  /** The payloads of the stream, in order. */
  readonly events: readonly string[] | undefined;
}

/** A folder of recorded answers of real providers, which may not be published. */
const shared = process.env.SOTTO_TEST_RECORDINGS ?? '';

/** Returns our synthetic recordings, and those of real providers if somebody has them. */
export function recordings(): Recording[] {
  const apis: readonly RecordedApi[] = ['anthropic', 'bedrock', 'google', 'openai'];
  const own = apis.flatMap((api) => ownRecordings(api).map((recording) => ({ ...recording, api })));
  if (shared !== '') return [...own, ...sharedRecordings()];
  noteSkip('the replay of real providers’ answers', 'set SOTTO_TEST_RECORDINGS to a folder of recordings.');
  return own;
}

const embeddings = /^cohere-/;
const suffix = /\.(json|chunks\.txt)$/;

/** Reads the shared recordings: `NAME.json` is a whole body, `NAME.chunks.txt` a stream with one payload per line. */
function sharedRecordings(): Recording[] {
  const names = new Set(
    readdirSync(shared)
      .filter((file) => suffix.test(file))
      .map((file) => file.replace(suffix, '')),
  );
  const read = (file: string): string | undefined =>
    existsSync(join(shared, file)) ? readFileSync(join(shared, file), 'utf8') : undefined;
  return [...names]
    .filter((name) => !embeddings.test(name))
    .map((name) => ({
      name,
      api: apiOf(name),
      whole: read(`${name}.json`),
      events: read(`${name}.chunks.txt`)?.trimEnd().split('\n'),
    }));
}

function apiOf(name: string): RecordedApi {
  const [, api = 'openai'] = /^(anthropic|google|bedrock)-/.exec(name) ?? [];
  return api as RecordedApi;
}

/** Returns recorded answers of Cohere's embeddings: name and body. */
export function embeddingRecordings(): { readonly name: string; readonly body: string }[] {
  const own = ownRecordings('cohere').map(({ name, whole }) => ({ name, body: whole }));
  if (shared === '') return own;
  const files = readdirSync(shared).filter((file) => embeddings.test(file));
  return [
    ...own,
    ...files.map((file) => ({ name: file.replace(suffix, ''), body: readFileSync(join(shared, file), 'utf8') })),
  ];
}

/** Reads the content of a recording. It deliberately does not use the code under test. */
export function saidOf({ api, whole, events }: Recording, how: 'whole' | 'stream'): Said {
  const reader = saidReaders[api];
  return how === 'whole' ? reader.whole(whole ?? '') : reader.stream(events ?? []);
}

/**
 * Removes the allowed differences: calls of Google get ids from us, and arguments may differ in whitespace or be empty
 * instead of `{}`.
 */
export function comparable({ api }: Recording, said: Said): Said {
  const even = api === 'openai' ? said : withEvenArguments(said);
  if (api !== 'google') return even;
  return { ...even, calls: even.calls.map((call) => ({ ...call, id: '' })) };
}

/** Returns the provider's own names and ids in a recording. None of them may reach a client. */
export function providersOwnNames({ whole, events }: Recording): string[] {
  const names = new Set<string>();
  for (const payload of [...(whole === undefined ? [] : [whole]), ...(events ?? [])]) {
    const body = JSON.parse(payload) as Record<string, unknown> & {
      readonly x_groq?: { readonly id?: string };
      readonly message?: { readonly id?: string; readonly model?: string };
    };
    const candidates = [
      ...['id', 'model', 'system_fingerprint', 'modelVersion', 'responseId'].map((name) => body[name]),
      body.x_groq?.id,
      body.message?.id,
      body.message?.model,
    ];
    for (const name of candidates) if (typeof name === 'string' && name !== '') names.add(name);
  }
  return [...names];
}

/** Returns a recorded stream in the framing of its API, one frame per event. */
export function framesOf({ api, events = [] }: Recording): Buffer[] {
  switch (api) {
    case 'openai':
      return [...events, '[DONE]'].map((payload) => Buffer.from(`data: ${payload}\n\n`));
    case 'anthropic':
      return events.map((payload) => {
        const { type } = JSON.parse(payload) as { type: string };
        return Buffer.from(`event: ${type}\ndata: ${payload}\n\n`);
      });
    case 'google':
      return events.map((payload) => Buffer.from(`data: ${payload}\r\n\r\n`));
    case 'bedrock':
      return events.flatMap((payload) =>
        Object.entries(JSON.parse(payload) as Record<string, object>).map(([type, event]) => bedrockEvent(type, event)),
      );
    default:
      return api satisfies never;
  }
}
