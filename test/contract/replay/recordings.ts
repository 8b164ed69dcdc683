import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { noteSkip } from '../../kit/skips.ts';
import { type Said, type SaidReader, saidReaders } from './said.ts';

export type RecordedApi = keyof typeof saidReaders;

/** A recorded answer, as its files have it. Some were recorded only whole, or only as a stream. */
export interface Recording {
  readonly name: string;
  readonly api: RecordedApi;
  readonly whole: string | undefined;
  /** Payloads of the stream, in order. */
  readonly events: readonly string[] | undefined;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const own = join(root, 'packages/providers/src/testing/recordings');
const shared = join(root, '../shared/recordings');

/** Our own made-up recordings, and those of real providers where they lie beside the project. */
export function recordings(): Recording[] {
  if (existsSync(shared)) return [...readFolder(own), ...readFolder(shared)];
  noteSkip(
    'the replay of real providers’ answers',
    'put the recordings beside the project, into ../shared/recordings.',
  );
  return readFolder(own);
}

const embeddings = /^(own-)?cohere-/;
const suffix = /\.(json|chunks\.txt)$/;

function readFolder(folder: string): Recording[] {
  const names = new Set(
    readdirSync(folder)
      .filter((file) => suffix.test(file))
      .map((file) => file.replace(suffix, '')),
  );
  const read = (file: string): string | undefined =>
    existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : undefined;
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
  const [, api = 'openai'] = /^(?:own-)?(anthropic|google|bedrock)-/.exec(name) ?? [];
  return api as RecordedApi;
}

/** Recorded answers of Cohere's embeddings: name and body. */
export const embeddingRecordings = (): { readonly name: string; readonly body: string }[] =>
  [own, shared]
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((file) => embeddings.test(file))
        .map((file) => ({ name: file.replace(suffix, ''), body: readFileSync(join(folder, file), 'utf8') })),
    );

/** What a recording says, read by hand and on purpose without the code under test. */
export function saidOf({ api, whole, events }: Recording, how: 'whole' | 'stream'): Said {
  const reader: SaidReader = saidReaders[api];
  const payloads = how === 'whole' ? [whole ?? ''] : (events ?? []);
  return how === 'whole' ? reader.whole(payloads[0] ?? '') : reader.stream(payloads);
}

/** What the provider calls itself and its answer in a recording: nothing of it is a client's business. */
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
