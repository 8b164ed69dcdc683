import { readFileSync } from 'node:fs';

export type RecordedApi = 'openai' | 'anthropic' | 'bedrock' | 'google' | 'cohere';

/** A recorded provider answer: its whole body, and the payloads of its stream, if it has one. */
export interface Recording {
  readonly name: string;
  readonly whole: string;
  readonly events: readonly string[];
}

/** A body is text if `JSON.stringify` would spell its numbers differently. */
type Pack = Readonly<Record<RecordedApi, Record<string, { readonly whole: unknown; readonly events?: string[] }>>>;

const pack = JSON.parse(readFileSync(new URL('recordings.json', import.meta.url), 'utf8')) as Pack;

/** The project's own recordings of one API. Their conversations are made up. */
export const ownRecordings = (api: RecordedApi): Recording[] =>
  Object.entries(pack[api]).map(([name, { whole, events = [] }]) => ({
    name,
    whole: typeof whole === 'string' ? whole : JSON.stringify(whole, null, 2),
    events,
  }));
