import { readFileSync } from 'node:fs';

/** Parts of a chat request, as an agent sent it through `sotto run`. */
export interface RecordedRequest {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  /** Empty for a request without tools, such as one for a title. */
  readonly tools: readonly object[];
}

interface Recording {
  readonly messages: RecordedRequest['messages'];
  /** Each with the number of its tools, and its messages by their places in the list. */
  readonly requests: readonly { readonly tools: number; readonly messages: readonly number[] }[];
}

const recordings = JSON.parse(
  readFileSync(new URL('../../../vectors/recorded-agents.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, Recording>>;

/** Agents whose requests were recorded: a run of each with twenty turns, in which a scripted model calls a tool. */
export const recordedAgents: readonly string[] = Object.keys(recordings);

/**
 * The requests of one run, in order. Long texts are shortened, and end with a digest of what was left out.
 *
 * @param prompt - Takes the place of what the user typed.
 */
export function recordedRequests(agent: string, prompt = typed): readonly RecordedRequest[] {
  const recording = recordings[agent];
  if (recording === undefined) throw new Error(`${agent} was not recorded`);
  const messages = JSON.parse(JSON.stringify(recording.messages).replaceAll(typed, prompt)) as Recording['messages'];
  return recording.requests.map((request) => ({
    messages: request.messages.flatMap((at) => messages[at] ?? []),
    tools: Array.from({ length: request.tools }, (_, at) => ({ type: 'function', function: { name: `tool_${at}` } })),
  }));
}

const typed = 'Run twenty steps, then tell me.';
