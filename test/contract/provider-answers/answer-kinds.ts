import type { AdapterName, Content } from '../dialects/pipeline.ts';
import { anthropic, bedrock, type Frames, google, openai } from './apis.ts';

/**
 * Answers that differ from what an API documents, as people reported them about other gateways: kind, adapter, whole or
 * streamed. A cell is an answer, or the reason why that API cannot send one of the kind. Each answer is read in every
 * dialect. The type requires every cell.
 */
export type Cell<Answer> = Answer | { readonly cannot: string };

export interface AnswerKind {
  /** The right content. An outcome, if no client could use the answer. */
  readonly gives: Partial<Content> | string;
  readonly cells: Readonly<
    Record<AdapterName, { readonly whole: Cell<string>; readonly streamed: Cell<Frames | readonly Frames[]> }>
  >;
}

const cannot = (why: string): { readonly cannot: string } => ({ cannot: why });
const never = (why: string) => ({ whole: cannot(why), streamed: cannot(why) });

const city = '{"city":"Oslo"}';
const oneCall: Partial<Content> = { calls: [{ id: 'c1', name: 'f', args: city }], finish: 'tool_calls' };
const twoCalls: Partial<Content> = {
  calls: [
    { id: 'c1', name: 'f', args: '{"a":1}' },
    { id: 'c2', name: 'g', args: '{"b":2}' },
  ],
  finish: 'tool_calls',
};
const bareCall: Partial<Content> = { calls: [{ id: 'c1', name: 'f', args: '{}' }], finish: 'tool_calls' };
const toolUse = (input: unknown) => ({ type: 'tool_use', id: 'c1', name: 'f', input });

export const answerKinds = {
  'arguments as an object or as text, whichever the API does not use': {
    gives: oneCall,
    cells: {
      openai: {
        whole: openai.whole(openai.call(0, 'c1', 'f', { city: 'Oslo' }), 'tool_calls'),
        streamed: openai.stream([[openai.call(0, 'c1', 'f', { city: 'Oslo' })], [{}, 'tool_calls']]),
      },
      anthropic: {
        whole: anthropic.whole([toolUse(city)], 'tool_use'),
        streamed: [
          anthropic.stream([...anthropic.call(0, 'c1', 'f', city), anthropic.stop('tool_use')]),
          anthropic.stream([...anthropic.call(0, 'c1', 'f', { city: 'Oslo' }), anthropic.stop('tool_use')]),
          anthropic.stream([...anthropic.call(0, 'c1', 'f', {}, [{ city: 'Oslo' }]), anthropic.stop('tool_use')]),
        ],
      },
      google: {
        whole: google.whole([{ functionCall: { id: 'c1', name: 'f', args: city } }], 'STOP'),
        streamed: google.stream([[[{ functionCall: { id: 'c1', name: 'f', args: city } }], 'STOP']]),
      },
      bedrock: {
        whole: bedrock.whole([{ toolUse: { toolUseId: 'c1', name: 'f', input: city } }], 'tool_use'),
        streamed: bedrock.stream([
          ...bedrock.call(0, 'c1', 'f', [{ city: 'Oslo' }]),
          bedrock.stop('tool_use'),
          bedrock.metadata,
        ]),
      },
    },
  },
  'arguments that are neither': {
    gives: 'malformed_answer',
    cells: {
      openai: {
        whole: openai.whole(openai.call(0, 'c1', 'f', ['Oslo']), 'tool_calls'),
        streamed: openai.stream([[openai.call(0, 'c1', 'f', 7)], [{}, 'tool_calls']]),
      },
      anthropic: {
        whole: anthropic.whole([toolUse(['Oslo'])], 'tool_use'),
        streamed: anthropic.stream([...anthropic.call(0, 'c1', 'f', {}, [7]), anthropic.stop('tool_use')]),
      },
      google: {
        whole: google.whole([{ functionCall: { id: 'c1', name: 'f', args: 7 } }], 'STOP'),
        streamed: google.stream([[[{ functionCall: { id: 'c1', name: 'f', args: ['Oslo'] } }], 'STOP']]),
      },
      bedrock: {
        whole: bedrock.whole([{ toolUse: { toolUseId: 'c1', name: 'f', input: true } }], 'tool_use'),
        streamed: bedrock.stream([...bedrock.call(0, 'c1', 'f', [7]), bedrock.stop('tool_use'), bedrock.metadata]),
      },
    },
  },
  'a call without arguments': {
    gives: bareCall,
    cells: {
      openai: {
        whole: openai.whole(openai.call(0, 'c1', 'f', ''), 'tool_calls'),
        streamed: [
          openai.stream([[openai.call(0, 'c1', 'f', '')], [{}, 'tool_calls']]),
          openai.stream([[openai.call(0, 'c1', 'f', undefined)], [{}, 'tool_calls']]),
        ],
      },
      anthropic: {
        whole: anthropic.whole([toolUse(undefined)], 'tool_use'),
        streamed: [
          anthropic.stream([...anthropic.call(0, 'c1', 'f', {}), anthropic.stop('tool_use')]),
          anthropic.stream([...anthropic.call(0, 'c1', 'f', {}).slice(0, 1), anthropic.stop('tool_use')]),
        ],
      },
      google: {
        whole: google.whole([{ functionCall: { id: 'c1', name: 'f' } }], 'STOP'),
        streamed: google.stream([[[{ functionCall: { id: 'c1', name: 'f' } }], 'STOP']]),
      },
      bedrock: {
        whole: bedrock.whole([{ toolUse: { toolUseId: 'c1', name: 'f' } }], 'tool_use'),
        streamed: bedrock.stream([...bedrock.call(0, 'c1', 'f', []), bedrock.stop('tool_use'), bedrock.metadata]),
      },
    },
  },
  'an id and a name that every piece repeats': {
    gives: oneCall,
    cells: {
      openai: {
        whole: cannot('a whole answer has each once'),
        streamed: openai.stream([
          [openai.call(0, 'c1', 'f', '{"city":')],
          [openai.call(0, 'c1', 'f', '"Oslo"}'), 'tool_calls'],
        ]),
      },
      anthropic: never('only the beginning of a block has fields for them'),
      google: never('it sends whole calls'),
      bedrock: never('only the beginning of a block has fields for them'),
    },
  },
  'a name that comes late, in pieces, or grows': {
    gives: { calls: [{ id: 'c1', name: 'get_weather', args: city }], finish: 'tool_calls' },
    cells: {
      openai: {
        whole: cannot('a whole answer has it once'),
        streamed: [
          openai.stream([
            [openai.call(0, 'c1', '', '')],
            [openai.call(0, 'c1', 'get_weather', city)],
            [{}, 'tool_calls'],
          ]),
          openai.stream([
            [openai.call(0, 'c1', 'get_', '')],
            [openai.call(0, undefined, 'weather', '')],
            [openai.call(0, undefined, undefined, city)],
            [{}, 'tool_calls'],
          ]),
          openai.stream([
            [openai.call(0, 'c1', 'get_', '')],
            [openai.call(0, 'c1', 'get_weather', city), 'tool_calls'],
          ]),
        ],
      },
      anthropic: never('only the beginning of a block has a field for it'),
      google: never('it sends whole calls'),
      bedrock: never('only the beginning of a block has a field for it'),
    },
  },
  'a call without a name': {
    gives: 'malformed_answer',
    cells: {
      openai: {
        whole: openai.whole(openai.call(0, 'c1', '', city), 'tool_calls'),
        streamed: openai.stream([[openai.call(0, 'c1', '', city)], [{}, 'tool_calls']]),
      },
      anthropic: {
        whole: anthropic.whole([{ ...toolUse({}), name: '' }], 'tool_use'),
        streamed: anthropic.stream([...anthropic.call(0, 'c1', '', {}, [city]), anthropic.stop('tool_use')]),
      },
      google: {
        whole: google.whole([{ functionCall: { id: 'c1', args: {} } }], 'STOP'),
        streamed: google.stream([[[{ functionCall: { id: 'c1', args: {} } }], 'STOP']]),
      },
      bedrock: {
        whole: bedrock.whole([{ toolUse: { toolUseId: 'c1', name: '', input: {} } }], 'tool_use'),
        streamed: bedrock.stream([...bedrock.call(0, 'c1', '', [city]), bedrock.stop('tool_use'), bedrock.metadata]),
      },
    },
  },
  'an end without a finish reason, or with one that nobody knows': {
    gives: oneCall,
    cells: {
      openai: {
        whole: openai.whole(openai.call(0, 'c1', 'f', city), null),
        streamed: [
          openai.stream([[openai.call(0, 'c1', 'f', city)]]),
          openai.stream([
            [openai.call(0, 'c1', 'f', '{"city":'), 'null'],
            [openai.call(0, 'c1', 'f', '"Oslo"}'), 'null'],
          ]),
          openai.stream([[openai.call(0, 'c1', 'f', city)], [{}, 'whatever']]),
        ],
      },
      anthropic: {
        whole: anthropic.whole([toolUse({ city: 'Oslo' })], 'whatever'),
        streamed: [
          anthropic.stream(anthropic.call(0, 'c1', 'f', {}, [city])),
          anthropic.stream([...anthropic.call(0, 'c1', 'f', {}, [city]), anthropic.stop('whatever')]),
        ],
      },
      google: {
        whole: google.whole([{ functionCall: { id: 'c1', name: 'f', args: { city: 'Oslo' } } }], 'WHATEVER'),
        streamed: google.stream([
          [[{ functionCall: { id: 'c1', name: 'f', args: { city: 'Oslo' } } }], 'FINISH_REASON_UNSPECIFIED'],
          [[], 'WHATEVER'],
        ]),
      },
      bedrock: {
        whole: bedrock.whole([{ toolUse: { toolUseId: 'c1', name: 'f', input: { city: 'Oslo' } } }], 'whatever'),
        streamed: bedrock.stream([...bedrock.call(0, 'c1', 'f', [city]), bedrock.stop('whatever'), bedrock.metadata]),
      },
    },
  },
  'text with the finish reason "null" in every piece': {
    gives: { text: 'ab', finish: 'stop' },
    cells: {
      openai: {
        whole: openai.whole({ content: 'ab' }, 'null'),
        streamed: openai.stream([
          [{ content: 'a' }, 'null'],
          [{ content: 'b' }, 'null'],
        ]),
      },
      anthropic: {
        whole: anthropic.whole([{ type: 'text', text: 'ab' }], 'null'),
        streamed: anthropic.stream([...anthropic.text(0, 'ab'), anthropic.stop('null')]),
      },
      google: {
        whole: google.whole([{ text: 'ab' }], 'null'),
        streamed: cannot('its enumeration has a name for none: FINISH_REASON_UNSPECIFIED'),
      },
      bedrock: {
        whole: bedrock.whole([{ text: 'ab' }], 'null'),
        streamed: bedrock.stream([...bedrock.text(0, 'ab'), bedrock.stop('null'), bedrock.metadata]),
      },
    },
  },
  'a call after an early finish reason': {
    gives: twoCalls,
    cells: {
      openai: {
        whole: cannot('a whole answer has one finish reason'),
        streamed: openai.stream([
          [openai.call(0, 'c1', 'f', '{"a":1}')],
          [{}, 'tool_calls'],
          [openai.call(1, 'c2', 'g', '{"b":2}')],
          [{}, 'tool_calls'],
          [{}, 'stop'],
        ]),
      },
      anthropic: {
        whole: cannot('a whole answer has one stop reason'),
        streamed: anthropic.stream([
          ...anthropic.call(0, 'c1', 'f', {}, ['{"a":1}']),
          anthropic.stop('tool_use'),
          ...anthropic.call(1, 'c2', 'g', {}, ['{"b":2}']),
          anthropic.stop('tool_use'),
        ]),
      },
      google: {
        whole: cannot('a whole answer has one finish reason'),
        streamed: google.stream([
          [[{ functionCall: { id: 'c1', name: 'f', args: { a: 1 } } }], 'STOP'],
          [[{ functionCall: { id: 'c2', name: 'g', args: { b: 2 } } }], 'STOP'],
        ]),
      },
      bedrock: {
        whole: cannot('a whole answer has one stop reason'),
        streamed: bedrock.stream([
          ...bedrock.call(0, 'c1', 'f', ['{"a":1}']),
          bedrock.stop('tool_use'),
          ...bedrock.call(1, 'c2', 'g', ['{"b":2}']),
          bedrock.metadata,
        ]),
      },
    },
  },
  '`stop` beside tool calls': {
    gives: oneCall,
    cells: {
      openai: {
        whole: openai.whole(openai.call(0, 'c1', 'f', city), 'stop'),
        streamed: openai.stream([[openai.call(0, 'c1', 'f', city)], [{}, 'stop']]),
      },
      anthropic: {
        whole: anthropic.whole([toolUse({ city: 'Oslo' })], 'end_turn'),
        streamed: anthropic.stream([...anthropic.call(0, 'c1', 'f', {}, [city]), anthropic.stop('end_turn')]),
      },
      google: {
        whole: google.whole([{ functionCall: { id: 'c1', name: 'f', args: { city: 'Oslo' } } }], 'STOP'),
        streamed: google.stream([[[{ functionCall: { id: 'c1', name: 'f', args: { city: 'Oslo' } } }]], [[], 'STOP']]),
      },
      bedrock: {
        whole: bedrock.whole([{ toolUse: { toolUseId: 'c1', name: 'f', input: { city: 'Oslo' } } }], 'end_turn'),
        streamed: bedrock.stream([...bedrock.call(0, 'c1', 'f', [city]), bedrock.stop('end_turn'), bedrock.metadata]),
      },
    },
  },
  'two calls with one id': {
    gives: {
      calls: [
        { id: 'c1', name: 'f', args: '{}' },
        { id: 'another', name: 'g', args: '{}' },
      ],
      finish: 'tool_calls',
    },
    cells: {
      openai: {
        whole: openai.whole(
          {
            tool_calls: [...openai.call(0, 'c1', 'f', '{}').tool_calls, ...openai.call(0, 'c1', 'g', '{}').tool_calls],
          },
          'tool_calls',
        ),
        streamed: openai.stream([
          [openai.call(0, 'c1', 'f', '{}')],
          [openai.call(1, 'c1', 'g', '{}')],
          [{}, 'tool_calls'],
        ]),
      },
      anthropic: never('its ids are unique in a conversation, and imitations were not reported'),
      google: never('it documents its ids as unique; most answers have none'),
      bedrock: never('its ids are those of the model, which Converse makes unique'),
    },
  },
  'a prompt that is too long, under status 200': {
    gives: 'context_exceeded',
    cells: {
      openai: {
        whole: openai.whole({}, null, {
          choices: [],
          error: { code: 400, message: "This model's maximum context length is 8192 tokens." },
        }),
        streamed: [
          openai.error({
            code: 400,
            message: "This model's maximum context length is 8192 tokens.",
            type: 'BadRequestError',
          }),
          openai.error({
            message: 'the request exceeds the available context size',
            type: 'exceed_context_size_error',
          }),
          openai.error('Your request exceeded model token limit: 262144 (requested: 300000)'),
          openai.raw({
            object: 'error',
            message: "The input (9000 tokens) is longer than the model's context length",
            code: 400,
          }),
          [Buffer.from('{"error":{"message":"Prompt exceeds max length","code":"1261"}}\n\n')],
        ],
      },
      anthropic: {
        whole: JSON.stringify({
          type: 'error',
          error: { type: 'invalid_request_error', message: 'prompt is too long: 213462 tokens > 200000 maximum' },
        }),
        streamed: anthropic.stream([
          {
            type: 'error',
            error: { type: 'invalid_request_error', message: 'prompt is too long: 213462 tokens > 200000 maximum' },
          },
        ]),
      },
      google: {
        whole: JSON.stringify({
          error: {
            code: 400,
            message: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
          },
        }),
        streamed: openai.raw({
          error: {
            code: 400,
            message: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
          },
        }),
      },
      bedrock: {
        whole: cannot('it reports a failure of a whole answer by its status'),
        streamed: bedrock.exception('validationException', 'Input is too long for requested model.'),
      },
    },
  },
} as const satisfies Readonly<Record<string, AnswerKind>>;
