import { describe, expect, it } from 'vitest';
import { type Conversation, Conversations } from './conversations.ts';
import { type RecordedRequest, recordedAgents, recordedRequests } from './testing/recorded-agents.ts';
import { turnsOf } from './turns.ts';

const ofTask = (agent: string, prompt?: string): readonly RecordedRequest[] =>
  recordedRequests(agent, prompt).filter(({ tools }) => tools.length > 0);

/** What recognises requests for one model. */
function recognising() {
  let secrets = 0;
  const conversations = new Conversations({ now: () => 0, newSecret: () => String(++secrets) });
  return (request: RecordedRequest): Conversation =>
    conversations.recognise(turnsOf({ model: 'acme/coder', ...request }));
}

describe.each(recordedAgents)('the recorded %s', (agent) => {
  it('has one conversation of twenty turns, and others beside it', () => {
    const recognise = recognising();
    const requests = recordedRequests(agent);
    const found = new Set(ofTask(agent).map(recognise));
    expect([ofTask(agent).length, found.size]).toEqual([20, 1]);
    for (const title of requests.filter(({ tools }) => tools.length === 0))
      expect(found).not.toContain(recognise(title));
  });

  it('is told apart from another run of it and from all other agents, turn by turn', () => {
    const recognise = recognising();
    const runs = [ofTask(agent), ofTask(agent, 'Another task.'), ...recordedAgents.map((each) => ofTask(each, each))];
    const found = runs.map(() => new Set<Conversation>());
    for (let turn = 0; turn < 20; turn += 1) {
      for (const [at, run] of runs.entries()) {
        const request = run[turn];
        if (request !== undefined) found[at]?.add(recognise(request));
      }
    }
    expect(found.map(({ size }) => size)).toEqual(runs.map(() => 1));
    expect(new Set(found.flatMap((each) => [...each])).size).toBe(runs.length);
  });
});
